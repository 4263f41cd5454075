"""A client of a Kubernetes API that uses the Python package the way scripts and operators do, and says what it saw.

    client.py     with KUBECONFIG

Nothing that a server makes up (uids, versions, times) is printed, so that what two servers say can be compared.
"""

import json
import threading
import time

from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic.exceptions import DynamicApiError, ResourceNotFoundError

NAMESPACE = "python"


def say(what, *values):
    print(f"{what}:", " | ".join(str(value) for value in values), flush=True)


def fault(error):
    """What clients tell errors apart by."""
    try:
        status = json.loads(error.body)
    except (TypeError, ValueError):
        return f"{error.status} {error.reason} {error.body}"
    causes = [
        f"{cause.get('reason')} {cause.get('field')} {cause.get('message')}"
        for cause in (status.get("details") or {}).get("causes") or []
    ]
    return f"{status.get('code')} {status.get('reason')} {status.get('message')} {causes}"


def attempt(what, work, show=lambda value: "ok"):
    """Does something and says what came of it."""
    try:
        value = work()
    except (ApiException, DynamicApiError) as error:
        say(what, fault(error))
        return None
    say(what, show(value))
    return value


def until(what, ready):
    end = time.monotonic() + 20
    while not ready():
        if time.monotonic() > end:
            say(what, "never")
            return
        time.sleep(0.02)
    say(what, "ok")


def there(read):
    try:
        read()
    except ApiException as error:
        if error.status == 404:
            return False
        raise
    return True


def config_map(name, color):
    return client.V1ConfigMap(
        metadata=client.V1ObjectMeta(name=name, labels={"color": color}), data={"color": color}
    )


def writes(core):
    attempt("create", lambda: core.create_namespaced_config_map(NAMESPACE, config_map("a", "red")), lambda m: m.data)
    attempt("create again", lambda: core.create_namespaced_config_map(NAMESPACE, config_map("a", "red")))
    attempt("a wrong name", lambda: core.create_namespaced_config_map(NAMESPACE, config_map("Wrong_Name", "red")))
    attempt("get nothing", lambda: core.read_namespaced_config_map("nothing", NAMESPACE))
    stale = core.read_namespaced_config_map("a", NAMESPACE)
    # A dictionary is a merge patch for this client, a list a JSON patch.
    attempt("patch", lambda: core.patch_namespaced_config_map("a", NAMESPACE, {"data": {"size": "1"}}), lambda m: m.data)
    changes = [{"op": "replace", "path": "/data/size", "value": "2"}]
    attempt("patch by a list", lambda: core.patch_namespaced_config_map("a", NAMESPACE, changes), lambda m: m.data)
    stale.data["size"] = "9"
    attempt("replace what is old", lambda: core.replace_namespaced_config_map("a", NAMESPACE, stale))
    fresh = core.read_namespaced_config_map("a", NAMESPACE)
    fresh.data["size"] = "3"
    attempt("replace", lambda: core.replace_namespaced_config_map("a", NAMESPACE, fresh), lambda m: m.data)
    attempt(
        "apply",
        lambda: core.patch_namespaced_config_map(
            "applied",
            NAMESPACE,
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": {"x": "y"}},
            field_manager="python",
            _content_type="application/apply-patch+yaml",
        ),
        lambda m: (m.data, m.metadata.managed_fields[0].manager, m.metadata.managed_fields[0].operation),
    )
    attempt("a dry run", lambda: core.create_namespaced_config_map(NAMESPACE, config_map("dry", "red"), dry_run="All"))
    attempt("is not there", lambda: core.read_namespaced_config_map("dry", NAMESPACE))
    attempt(
        "strictly",
        lambda: core.create_namespaced_config_map(
            NAMESPACE, {"metadata": {"name": "typo"}, "dta": {}}, field_validation="Strict"
        ),
    )
    secret = client.V1Secret(metadata=client.V1ObjectMeta(name="s"), string_data={"a": "b"})
    attempt("secret", lambda: core.create_namespaced_secret(NAMESPACE, secret), lambda s: (s.type, s.data, s.string_data))


def lists(core):
    for at in range(5):
        core.create_namespaced_config_map(NAMESPACE, config_map(f"m{at}", ["red", "blue"][at % 2]))
    names = lambda found: [one.metadata.name for one in found.items]  # noqa: E731
    for selector in ["color=red", "color!=red", "color in (red,blue)", "!color", "color in ("]:
        attempt(f"labels {selector}", lambda s=selector: core.list_namespaced_config_map(NAMESPACE, label_selector=s), names)
    attempt(
        "fields", lambda: core.list_namespaced_config_map(NAMESPACE, field_selector="metadata.name=m3"), names
    )
    attempt("wrong fields", lambda: core.list_namespaced_config_map(NAMESPACE, field_selector="data.color=red"))
    token, pages = None, []
    while True:
        page = core.list_namespaced_config_map(NAMESPACE, limit=2, label_selector="color", _continue=token)
        pages.append(names(page))
        token = page.metadata._continue
        if not token:
            break
    say("pages", pages)


def watches(core):
    begin = core.list_namespaced_config_map(NAMESPACE).metadata.resource_version

    def work():
        core.create_namespaced_config_map(NAMESPACE, config_map("w", "red"))
        core.patch_namespaced_config_map("w", NAMESPACE, {"data": {"more": "1"}})
        core.patch_namespaced_config_map("w", NAMESPACE, {"metadata": {"labels": {"color": "blue"}}})
        core.delete_namespaced_config_map("w", NAMESPACE)

    worker = threading.Thread(target=work)
    worker.start()
    stream, told = watch.Watch(), []
    for event in stream.stream(
        core.list_namespaced_config_map, NAMESPACE, resource_version=begin, label_selector="color=red", timeout_seconds=20
    ):
        told.append((event["type"], event["object"].metadata.name, event["object"].data))
        if event["type"] == "DELETED":
            stream.stop()
    worker.join()
    say("told", told)
    stream, told = watch.Watch(), []
    for event in stream.stream(core.list_namespaced_config_map, NAMESPACE, resource_version=begin, timeout_seconds=1):
        told.append((event["type"], event["object"].metadata.name))
    say("told again", told)


def workloads(core, apps, batch):
    labels = {"app": "web"}
    deployment = client.V1Deployment(
        metadata=client.V1ObjectMeta(name="web"),
        spec=client.V1DeploymentSpec(
            replicas=0,
            selector=client.V1LabelSelector(match_labels=labels),
            template=client.V1PodTemplateSpec(
                metadata=client.V1ObjectMeta(labels=labels),
                spec=client.V1PodSpec(containers=[client.V1Container(name="c", image="x:1")]),
            ),
        ),
    )
    attempt(
        "deployment",
        lambda: apps.create_namespaced_deployment(NAMESPACE, deployment),
        lambda d: (d.spec.strategy.type, d.spec.revision_history_limit, d.spec.template.spec.restart_policy),
    )
    attempt(
        "strategic merge",
        lambda: apps.patch_namespaced_deployment(
            "web",
            NAMESPACE,
            {"spec": {"template": {"spec": {"containers": [{"name": "c", "env": [{"name": "A", "value": "1"}]}]}}}},
            _content_type="application/strategic-merge-patch+json",
        ),
        lambda d: [(c.name, c.image, [e.name for e in c.env or []]) for c in d.spec.template.spec.containers],
    )
    attempt("scale", lambda: apps.read_namespaced_deployment_scale("web", NAMESPACE), lambda s: (s.spec.replicas, s.status.selector))
    attempt(
        "scaled",
        lambda: apps.patch_namespaced_deployment_scale("web", NAMESPACE, {"spec": {"replicas": 0}}),
        lambda s: s.spec.replicas,
    )
    attempt("delete", lambda: apps.delete_namespaced_deployment("web", NAMESPACE, propagation_policy="Background"), lambda s: s.status)
    job = {"metadata": {"name": "once"}, "spec": {"suspend": True, "template": {"spec": {
        "restartPolicy": "Never", "containers": [{"name": "c", "image": "x:1"}]}}}}
    attempt("job", lambda: batch.create_namespaced_job(NAMESPACE, job), lambda j: (j.spec.parallelism, j.spec.backoff_limit, j.spec.completion_mode))
    attempt("a job that cannot be", lambda: batch.create_namespaced_job(NAMESPACE, {"metadata": {"name": "bad"}, "spec": {}}))
    pod = {"metadata": {"name": "p"}, "spec": {"nodeName": "nowhere", "containers": [{"name": "c", "image": "x:1"}]}}
    attempt("pod", lambda: core.create_namespaced_pod(NAMESPACE, pod), lambda p: (p.status.phase, p.spec.service_account_name))
    attempt("delete it", lambda: core.delete_namespaced_pod("p", NAMESPACE, grace_period_seconds=0), lambda p: p.kind or "Pod")
    quantities = {"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "0.5Gi"}}}}
    attempt(
        "claim",
        lambda: core.create_namespaced_persistent_volume_claim(NAMESPACE, quantities),
        lambda c: (c.spec.resources.requests, c.spec.volume_mode, c.status.phase),
    )


def custom(api):
    definitions = client.ApiextensionsV1Api(api)
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "size": {"type": "integer", "minimum": 1, "default": 3}}}, "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "snakes.python.example.com"},
        "spec": {"group": "python.example.com", "scope": "Namespaced", "names": {"plural": "snakes", "kind": "Snake"},
                 "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
                               "schema": {"openAPIV3Schema": schema}}]},
    }
    attempt("define", lambda: definitions.create_custom_resource_definition(definition), lambda d: d.spec.names.list_kind)
    until("established", lambda: any(
        c.type == "Established" and c.status == "True"
        for c in definitions.read_custom_resource_definition("snakes.python.example.com").status.conditions or []))
    objects = client.CustomObjectsApi(api)
    place = ("python.example.com", "v1", NAMESPACE, "snakes")
    until("served", lambda: there(lambda: objects.list_namespaced_custom_object(*place)))
    snake = lambda name, **spec: {  # noqa: E731
        "apiVersion": "python.example.com/v1", "kind": "Snake", "metadata": {"name": name}, "spec": spec}
    attempt("create", lambda: objects.create_namespaced_custom_object(*place, snake("a", other=1)), lambda o: o["spec"])
    attempt("refused", lambda: objects.create_namespaced_custom_object(*place, snake("b", size=0)))
    attempt("patch", lambda: objects.patch_namespaced_custom_object(*place, "a", {"spec": {"size": 5}}), lambda o: o["spec"])
    attempt("status", lambda: objects.patch_namespaced_custom_object_status(*place, "a", {"status": {"phase": "Fine"}}),
            lambda o: (o["status"], o["metadata"]["generation"]))
    attempt("list", lambda: objects.list_namespaced_custom_object(*place), lambda o: (o["kind"], len(o["items"])))

    general = dynamic.DynamicClient(api)
    snakes = general.resources.get(api_version="python.example.com/v1", kind="Snake")
    say("found", snakes.name, snakes.namespaced, sorted(snakes.verbs))
    attempt("dynamic create", lambda: snakes.create(body=snake("c"), namespace=NAMESPACE), lambda o: o.spec.size)
    attempt(
        "dynamic apply",
        lambda: snakes.server_side_apply(body=snake("c", size=7), name="c", namespace=NAMESPACE, field_manager="python", force_conflicts=True),
        lambda o: o.spec.size,
    )
    attempt("dynamic list", lambda: snakes.get(namespace=NAMESPACE), lambda found: [o.metadata.name for o in found.items])
    attempt("dynamic delete", lambda: snakes.delete(name="c", namespace=NAMESPACE), lambda o: o.status)
    for kind in ["Deployment", "ConfigMap", "Nonsense"]:
        try:
            say(kind, general.resources.get(kind=kind, api_version="apps/v1" if kind == "Deployment" else "v1").name)
        except ResourceNotFoundError as error:
            say(kind, error)
    attempt("undefine", lambda: definitions.delete_custom_resource_definition("snakes.python.example.com"), lambda s: s.kind)
    until("gone", lambda: not there(lambda: definitions.read_custom_resource_definition("snakes.python.example.com")))
    until("not served", lambda: not there(lambda: objects.list_namespaced_custom_object(*place)))


def rights(api, core):
    review = client.V1SelfSubjectAccessReview(spec=client.V1SelfSubjectAccessReviewSpec(
        resource_attributes=client.V1ResourceAttributes(verb="delete", resource="nodes")))
    attempt("may I", lambda: client.AuthorizationV1Api(api).create_self_subject_access_review(review), lambda r: r.status.allowed)
    attempt("who am I", lambda: client.AuthenticationV1Api(api).create_self_subject_review({}), lambda r: sorted(r.status.user_info.groups))
    request = client.AuthenticationV1TokenRequest(spec=client.V1TokenRequestSpec(audiences=[], expiration_seconds=3600))
    token = attempt("token", lambda: core.create_namespaced_service_account_token("default", NAMESPACE, request),
                    lambda t: t.status.token.count("."))
    if token:
        weak = client.Configuration()
        weak.host, weak.ssl_ca_cert = api.configuration.host, api.configuration.ssl_ca_cert
        account = client.ApiClient(weak, header_name="Authorization", header_value=f"Bearer {token.status.token}")
        attempt("as the account", lambda: client.AuthenticationV1Api(account).create_self_subject_review({}),
                lambda r: (r.status.user_info.username, sorted(r.status.user_info.groups)))
        attempt("it may not", lambda: client.CoreV1Api(account).list_namespaced_secret(NAMESPACE))


def main():
    config.load_kube_config()
    api = client.ApiClient()
    core, apps, batch = client.CoreV1Api(api), client.AppsV1Api(api), client.BatchV1Api(api)
    code = client.VersionApi(api).get_code()
    say("version", code.major, code.minor)
    groups = {group.name for group in client.ApisApi(api).get_api_versions().groups}
    say("groups", sorted(groups & {"apps", "batch", "policy", "networking.k8s.io", "apiextensions.k8s.io", "autoscaling"}))
    attempt("namespace", lambda: core.create_namespace({"metadata": {"name": NAMESPACE}}), lambda n: n.status.phase)
    until("furnished", lambda: there(lambda: core.read_namespaced_service_account("default", NAMESPACE))
          and there(lambda: core.read_namespaced_config_map("kube-root-ca.crt", NAMESPACE)))
    writes(core)
    lists(core)
    watches(core)
    workloads(core, apps, batch)
    custom(api)
    rights(api, core)
    attempt("from yaml", lambda: utils.create_from_dict(api, {
        "apiVersion": "v1", "kind": "List", "items": [
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}},
            {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "n"}, "spec": {"podSelector": {}}},
        ]}, namespace=NAMESPACE))
    attempt("delete all", lambda: core.delete_collection_namespaced_config_map(NAMESPACE, label_selector="color"), lambda s: s.status)
    attempt("the end", lambda: core.delete_namespace(NAMESPACE), lambda s: s.status)
    until("it is gone", lambda: not there(lambda: core.read_namespace(NAMESPACE)))


main()
