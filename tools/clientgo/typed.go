package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/tools/pager"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
)

func discoveryScene(w *world) {
	client := discovery.NewDiscoveryClientForConfigOrDie(w.config)
	version, err := client.ServerVersion()
	say("version", version.Major, version.Minor, err)
	for _, gv := range []string{"v1", "apps/v1", "batch/v1", "rbac.authorization.k8s.io/v1", "nothing/v1"} {
		list, err := client.ServerResourcesForGroupVersion(gv)
		say("resources of "+gv, err)
		if err != nil {
			continue
		}
		for _, r := range list.APIResources {
			// What is not there on purpose, and parts of objects, some of which are not.
			if r.Name != "componentstatuses" && !strings.Contains(r.Name, "/") {
				verbs := slices.Sorted(slices.Values(r.Verbs))
				say("  "+r.Name, r.Kind, r.SingularName, r.Namespaced, r.ShortNames, r.Categories, verbs)
			}
		}
	}
	for _, of := range []discovery.DiscoveryInterface{client, client.WithLegacy()} {
		mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(of))
		short := restmapper.NewShortcutExpander(mapper, of, nil)
		for _, word := range []string{"deploy", "po", "svc", "cm", "crd", "configmaps", "roles", "ing", "nonsense"} {
			found, err := short.KindFor(schema.GroupVersionResource{Resource: word})
			say("the kind of "+word, found, err)
		}
		for _, kind := range []schema.GroupKind{{Kind: "Pod"}, {Group: "apps", Kind: "Deployment"}, {Group: "x", Kind: "Y"}} {
			mapping, err := mapper.RESTMapping(kind)
			if err == nil {
				say("where is "+kind.String(), mapping.Resource, mapping.Scope.Name())
			} else {
				say("where is "+kind.String(), err)
			}
		}
	}
	document, err := client.OpenAPIV3().Paths()
	_, apps := document["apis/apps/v1"]
	say("openapi v3", apps, err)
	if apps {
		text, err := document["apis/apps/v1"].Schema("application/json")
		say("has deployments", strings.Contains(string(text), "io.k8s.api.apps.v1.Deployment"), err)
	}
	raw, err := client.RESTClient().Get().AbsPath("/readyz").DoRaw(w)
	say("readyz", string(raw), err)
	_, err = client.RESTClient().Get().AbsPath("/nothing").DoRaw(w)
	say("nothing", err)
}

func writes(w *world) {
	maps := w.typed.CoreV1().ConfigMaps(w.namespace)
	made, err := maps.Create(w, configMap("a", "red"), metav1.CreateOptions{FieldManager: "somebody"})
	say("create", made.Name, made.Data, made.Labels, made.ManagedFields[0].Manager, err)
	_, err = maps.Create(w, configMap("a", "red"), metav1.CreateOptions{})
	say("create again", err)
	_, err = maps.Create(w, configMap("Wrong_Name", "red"), metav1.CreateOptions{})
	say("a wrong name", err)
	_, err = maps.Get(w, "nothing", metav1.GetOptions{})
	say("get nothing", err)
	stale := made.DeepCopy()
	made.Data["color"] = "blue"
	updated, err := maps.Update(w, made, metav1.UpdateOptions{})
	say("update", updated.Data, updated.ResourceVersion != made.ResourceVersion, err)
	_, err = maps.Update(w, stale, metav1.UpdateOptions{})
	say("update of what is old", err)
	same, err := maps.Update(w, updated, metav1.UpdateOptions{})
	say("update with the same", same.ResourceVersion == updated.ResourceVersion, err)
	dry := configMap("dry", "red")
	_, err = maps.Create(w, dry, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	say("dry", err)
	_, err = maps.Get(w, "dry", metav1.GetOptions{})
	say("is not there", err)
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		stale.Data["more"] = "yes"
		_, err := maps.Update(w, stale, metav1.UpdateOptions{})
		if err != nil {
			stale, _ = maps.Get(w, "a", metav1.GetOptions{})
		}
		return err
	})
	say("tried until it goes", err)
	generated := configMap("", "red")
	generated.GenerateName = "made-"
	named, err := maps.Create(w, generated, metav1.CreateOptions{})
	say("a generated name", strings.HasPrefix(named.Name, "made-"), len(named.Name), err)
	secret, err := w.typed.CoreV1().Secrets(w.namespace).Create(w, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "s"}, StringData: map[string]string{"a": "b"},
	}, metav1.CreateOptions{})
	say("secret", secret.Type, string(secret.Data["a"]), len(secret.StringData), err)
	immutable := configMap("fixed", "red")
	immutable.Immutable = ptr.To(true)
	immutable, _ = maps.Create(w, immutable, metav1.CreateOptions{})
	immutable.Data["color"] = "blue"
	_, err = maps.Update(w, immutable, metav1.UpdateOptions{})
	say("what is immutable", err)
	_, err = w.typed.CoreV1().ConfigMaps("no-such-namespace").Create(w, configMap("a", "red"), metav1.CreateOptions{})
	say("in no namespace", err)
	large := configMap("large", "red")
	large.Data["x"] = strings.Repeat("x", 1100000)
	_, err = maps.Create(w, large, metav1.CreateOptions{})
	say("too large", err)
	service, err := w.typed.CoreV1().Services(w.namespace).Create(w, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	say("service", service.Spec.ClusterIP != "", service.Spec.Type, service.Spec.Ports, service.Spec.IPFamilies, err)
	service.Spec.ClusterIP = "10.96.255.254"
	service.Spec.ClusterIPs = []string{"10.96.255.254"}
	_, err = w.typed.CoreV1().Services(w.namespace).Update(w, service, metav1.UpdateOptions{})
	say("another address", err != nil)
}

func names(list []corev1.ConfigMap) (names []string) {
	for _, one := range list {
		names = append(names, one.Name)
	}
	return names
}

func lists(w *world) {
	maps := w.typed.CoreV1().ConfigMaps(w.namespace)
	for i := range 7 {
		_, err := maps.Create(w, configMap(fmt.Sprintf("m%d", i), []string{"red", "green", "blue"}[i%3]), metav1.CreateOptions{})
		say("create", i, err)
	}
	for _, selector := range []string{"color=red", "color!=red", "color in (green,blue)", "!color", "color", "color=", "a b", "color in (", "color>1"} {
		list, err := maps.List(w, metav1.ListOptions{LabelSelector: selector})
		say("labels "+selector, names(list.Items), err)
	}
	for _, selector := range []string{"metadata.name=m3", "metadata.name!=m3", "metadata.namespace=" + w.namespace, "data.color=red", "nonsense"} {
		list, err := maps.List(w, metav1.ListOptions{FieldSelector: selector})
		say("fields "+selector, names(list.Items), err)
	}
	options := metav1.ListOptions{Limit: 3}
	first := ""
	for {
		page, err := maps.List(w, options)
		remaining := int64(-1)
		if page.RemainingItemCount != nil {
			remaining = *page.RemainingItemCount
		}
		say("page", names(page.Items), remaining, first == "" || first == page.ResourceVersion, err)
		first = page.ResourceVersion
		if page.Continue == "" || err != nil {
			break
		}
		options.Continue = page.Continue
		if len(page.Items) > 0 && page.Items[0].Name != "" {
			// What changes between pages is not seen by the rest of them.
			_, err = maps.Create(w, configMap("zz-"+page.Items[0].Name, "late"), metav1.CreateOptions{})
			say("between pages", err)
		}
	}
	_, err := maps.List(w, metav1.ListOptions{Limit: 3, Continue: "nonsense"})
	say("a wrong page", err)
	_, err = maps.List(w, metav1.ListOptions{ResourceVersion: "x"})
	say("a wrong version", err)
	_, err = maps.List(w, metav1.ListOptions{ResourceVersion: first, ResourceVersionMatch: metav1.ResourceVersionMatchExact, Limit: 2})
	say("exactly then", err)
	_, err = maps.List(w, metav1.ListOptions{ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	say("exactly never", err)
	count := 0
	paged := pager.New(pager.SimplePageFunc(func(options metav1.ListOptions) (runtime.Object, error) { return maps.List(w, options) }))
	paged.PageSize = 2
	err = paged.EachListItem(w, metav1.ListOptions{LabelSelector: "color"}, func(runtime.Object) error { count++; return nil })
	say("all pages", count, err)
	everywhere, err := w.typed.CoreV1().ConfigMaps("").List(w, metav1.ListOptions{FieldSelector: "metadata.namespace=" + w.namespace, LabelSelector: "color"})
	say("of all namespaces", len(everywhere.Items), err)
}

func patches(w *world) {
	deployments := w.typed.AppsV1().Deployments(w.namespace)
	made, err := deployments.Create(w, deployment("web", 0), metav1.CreateOptions{})
	say("create", *made.Spec.Replicas, made.Spec.Strategy.Type, *made.Spec.RevisionHistoryLimit, made.Generation, err)
	for _, patch := range []struct {
		kind types.PatchType
		text string
	}{
		{types.StrategicMergePatchType, `{"spec":{"template":{"spec":{"containers":[{"name":"c","env":[{"name":"A","value":"1"}]}]}}}}`},
		{types.StrategicMergePatchType, `{"spec":{"template":{"spec":{"containers":[{"name":"c","env":[{"name":"B","value":"2"}]}]}}}}`},
		{types.StrategicMergePatchType, `{"spec":{"template":{"spec":{"containers":[{"name":"c","env":[{"name":"A","$patch":"delete"}]}]}}}}`},
		{types.StrategicMergePatchType, `{"spec":{"template":{"spec":{"containers":[{"image":"x"}]}}}}`},
		{types.MergePatchType, `{"metadata":{"labels":{"x":"y"}},"spec":{"paused":true}}`},
		{types.MergePatchType, `{"spec":{"paused":null}}`},
		{types.MergePatchType, `{"spec":{"selector":{"matchLabels":{"app":"other"}}}}`},
		{types.JSONPatchType, `[{"op":"add","path":"/metadata/annotations","value":{"a":"b"}},{"op":"test","path":"/spec/replicas","value":0}]`},
		{types.JSONPatchType, `[{"op":"test","path":"/spec/replicas","value":9}]`},
		{types.JSONPatchType, `[{"op":"remove","path":"/spec/nothing"}]`},
		{types.JSONPatchType, `{}`},
		{types.MergePatchType, `{"spec":{"replicas":"many"}}`},
		{types.MergePatchType, `{`},
		{types.PatchType("application/nonsense"), `{}`},
	} {
		is, err := deployments.Patch(w, "web", patch.kind, []byte(patch.text), metav1.PatchOptions{FieldManager: "patcher"})
		if err != nil {
			say("patch "+patch.text, err)
			continue
		}
		env := is.Spec.Template.Spec.Containers[0].Env
		say("patch "+patch.text, env, is.Spec.Paused, is.Labels, is.Annotations["a"], is.Generation)
	}
	_, err = deployments.Patch(w, "nothing", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
	say("patch nothing", err)
}

func deployment(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "x:1"}}},
			},
		},
	}
}

func deletions(w *world) {
	maps := w.typed.CoreV1().ConfigMaps(w.namespace)
	create := func(name, color string, finalizers ...string) *corev1.ConfigMap {
		one := configMap(name, color)
		one.Finalizers = finalizers
		made, err := maps.Create(w, one, metav1.CreateOptions{})
		say("create "+name, err)
		return made
	}
	a := create("a", "red")
	wrong := types.UID("00000000-0000-0000-0000-000000000000")
	err := maps.Delete(w, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &wrong}})
	say("delete another", err != nil)
	err = maps.Delete(w, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &a.UID, ResourceVersion: &a.ResourceVersion}})
	say("delete this one", err)
	err = maps.Delete(w, "a", metav1.DeleteOptions{})
	say("delete again", err)
	create("b", "red", "example.com/wait")
	say("delete what waits", maps.Delete(w, "b", metav1.DeleteOptions{}))
	b, err := maps.Get(w, "b", metav1.GetOptions{})
	say("it is marked", b.DeletionTimestamp != nil, *b.DeletionGracePeriodSeconds, b.Finalizers, err)
	b.Finalizers = append(b.Finalizers, "example.com/more")
	_, err = maps.Update(w, b, metav1.UpdateOptions{})
	say("no more finalizers", err)
	b.Finalizers = nil
	_, err = maps.Update(w, b, metav1.UpdateOptions{})
	say("let go", err)
	_, err = maps.Get(w, "b", metav1.GetOptions{})
	say("it is gone", err)
	for i := range 5 {
		create(fmt.Sprintf("c%d", i), []string{"red", "blue"}[i%2])
	}
	err = maps.DeleteCollection(w, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "color=red"})
	left, _ := maps.List(w, metav1.ListOptions{LabelSelector: "color"})
	say("the red ones", names(left.Items), err)
	owner := create("owner", "red")
	child := configMap("child", "red")
	child.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: owner.UID, BlockOwnerDeletion: ptr.To(true)}}
	_, err = maps.Create(w, child, metav1.CreateOptions{})
	say("create child", err)
	say("delete the owner", maps.Delete(w, "owner", metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationForeground)}))
	w.until("both are gone", func() bool {
		left, err := maps.List(w, metav1.ListOptions{LabelSelector: "color=red"})
		return err == nil && len(left.Items) == 0
	})
	grace := int64(30)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "x:1"}}, NodeName: "nowhere"},
	}
	_, err = w.typed.CoreV1().Pods(w.namespace).Create(w, pod, metav1.CreateOptions{})
	say("a pod", err)
	say("delete it", w.typed.CoreV1().Pods(w.namespace).Delete(w, "p", metav1.DeleteOptions{GracePeriodSeconds: &grace}))
	is, err := w.typed.CoreV1().Pods(w.namespace).Get(w, "p", metav1.GetOptions{})
	say("it has time", is.DeletionTimestamp != nil, is.DeletionGracePeriodSeconds != nil, err)
	grace = 0
	say("no more", w.typed.CoreV1().Pods(w.namespace).Delete(w, "p", metav1.DeleteOptions{GracePeriodSeconds: &grace}))
	_, err = w.typed.CoreV1().Pods(w.namespace).Get(w, "p", metav1.GetOptions{})
	say("it is gone", err)
}

func subresources(w *world) {
	deployments := w.typed.AppsV1().Deployments(w.namespace)
	paused := deployment("web", 0)
	paused.Spec.Paused = true
	_, err := deployments.Create(w, paused, metav1.CreateOptions{})
	say("create", err)
	is, err := deployments.GetScale(w, "web", metav1.GetOptions{})
	say("scale", is.Spec.Replicas, is.Status.Selector, err)
	// The controllers write too.
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		is, _ = deployments.GetScale(w, "web", metav1.GetOptions{})
		is.Spec.Replicas = 2
		_, err := deployments.UpdateScale(w, "web", is, metav1.UpdateOptions{})
		return err
	})
	say("scaled", err)
	is, err = deployments.GetScale(w, "web", metav1.GetOptions{})
	say("scale", is.Spec.Replicas, err)
	is.ResourceVersion = ""
	is.Spec.Replicas = -1
	_, err = deployments.UpdateScale(w, "web", is, metav1.UpdateOptions{})
	say("scaled wrongly", err)
	_, err = deployments.UpdateScale(w, "nothing", &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "nothing"}}, metav1.UpdateOptions{})
	say("scaled nothing", err)
	client := discovery.NewDiscoveryClientForConfigOrDie(w.config)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client))
	scales, err := scale.NewForConfig(w.config, mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(client))
	say("scales", err)
	if err == nil {
		one, err := scales.Scales(w.namespace).Get(w, schema.GroupResource{Group: "apps", Resource: "deployments"}, "web", metav1.GetOptions{})
		say("scale of any kind", one.Spec.Replicas, err)
	}
	pods := w.typed.CoreV1().Pods(w.namespace)
	pod, err := pods.Create(w, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"app": "p"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "x:1"}}, SchedulerName: "nobody"},
	}, metav1.CreateOptions{})
	say("pod", pod.Status.Phase, pod.Status.QOSClass, len(pod.Spec.Tolerations), err)
	pod.Spec.Containers[0].Image = "ignored"
	pod.Status.Conditions = []corev1.PodCondition{{Type: "example.com/Fine", Status: corev1.ConditionTrue}}
	pod, err = pods.UpdateStatus(w, pod, metav1.UpdateOptions{})
	say("status", pod.Spec.Containers[0].Image, pod.Status.Conditions[0].Type, err)
	err = pods.Bind(w, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Target: corev1.ObjectReference{Kind: "Node", Name: "nowhere"}}, metav1.CreateOptions{})
	say("bind", err)
	err = pods.Bind(w, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Target: corev1.ObjectReference{Kind: "Node", Name: "elsewhere"}}, metav1.CreateOptions{})
	say("bind again", err)
	pod, _ = pods.Get(w, "p", metav1.GetOptions{})
	say("bound", pod.Spec.NodeName)
	pod.Spec.Containers[0].Image = "x:2"
	pod, err = pods.UpdateEphemeralContainers(w, "p", pod, metav1.UpdateOptions{})
	say("ephemeral", len(pod.Spec.EphemeralContainers), pod.Spec.Containers[0].Image, err)
	err = pods.EvictV1(w, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: w.namespace}, DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))}})
	say("evict", err)
	accounts := w.typed.CoreV1().ServiceAccounts(w.namespace)
	token, err := accounts.CreateToken(w, "default", &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(3600))}}, metav1.CreateOptions{})
	say("token", strings.Count(token.Status.Token, "."), err)
	if err == nil {
		review, err := w.typed.AuthenticationV1().TokenReviews().Create(w, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token.Status.Token}}, metav1.CreateOptions{})
		say("its user", review.Status.Authenticated, review.Status.User.Username, review.Status.User.Groups, review.Status.Audiences, err)
	}
	_, err = accounts.CreateToken(w, "default", &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(60))}}, metav1.CreateOptions{})
	say("a short token", err)
	namespace, err := w.typed.CoreV1().Namespaces().Get(w, w.namespace, metav1.GetOptions{})
	say("finalizers", namespace.Spec.Finalizers, namespace.Status.Phase, err)
	text, _ := json.Marshal(namespace.Labels)
	say("labels", string(text))
}
