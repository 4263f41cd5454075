//! What may differ between objects that the originals make and ours, each with the reason.

/// A path in an object, and why it is not compared.
pub const MASKS: [(&str, &str); 12] = [
    ("/status", "what controllers say at that moment"),
    ("/metadata/uid", "made up by the server"),
    ("/metadata/resourceVersion", "counts the writes of the whole cluster"),
    ("/metadata/creationTimestamp", "the time"),
    ("/metadata/generation", "counts the changes: ours writes less often"),
    ("/metadata/managedFields", "ours applies as `helm`, the originals patch under their own names"),
    ("/metadata/ownerReferences/0/uid", "the uid of another resource"),
    (
        "/metadata/labels/helm.sdk.operatorframework.io~1chart",
        "operator-sdk and ours have it, the plugins have not",
    ),
    ("/metadata/annotations/deployment.kubernetes.io~1revision", "counts the changes of the pods' template"),
    ("/spec/clusterIP", "chosen by the server"),
    ("/spec/clusterIPs", "chosen by the server"),
    (
        "/spec/template/metadata/annotations/podium.dev~1config-hash",
        "ours: pods start anew when their config changes",
    ),
];
