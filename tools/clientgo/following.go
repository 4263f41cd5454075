package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	metaapply "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
	watchtools "k8s.io/client-go/tools/watch"
)

func applyScene(w *world) {
	maps := w.typed.CoreV1().ConfigMaps(w.namespace)
	mine := coreapply.ConfigMap("a", w.namespace).WithData(map[string]string{"a": "1", "b": "1"})
	is, err := maps.Apply(w, mine, metav1.ApplyOptions{FieldManager: "one"})
	say("apply", is.Data, err)
	_, err = maps.Apply(w, mine, metav1.ApplyOptions{})
	say("apply by nobody", err)
	theirs := coreapply.ConfigMap("a", w.namespace).WithData(map[string]string{"b": "2"})
	_, err = maps.Apply(w, theirs, metav1.ApplyOptions{FieldManager: "two"})
	say("a conflict", err)
	is, err = maps.Apply(w, theirs, metav1.ApplyOptions{FieldManager: "two", Force: true})
	say("by force", is.Data, managers(is), err)
	is, err = maps.Apply(w, coreapply.ConfigMap("a", w.namespace).WithData(map[string]string{"a": "1"}), metav1.ApplyOptions{FieldManager: "one"})
	say("without it", is.Data, managers(is), err)
	before := is.ResourceVersion
	is, err = maps.Apply(w, coreapply.ConfigMap("a", w.namespace).WithData(map[string]string{"a": "1"}), metav1.ApplyOptions{FieldManager: "one"})
	say("the same again", is.ResourceVersion == before, err)
	extracted, err := coreapply.ExtractConfigMap(is, "two")
	say("extracted", extracted.Data, err)
	is, err = maps.Apply(w, coreapply.ConfigMap("a", w.namespace), metav1.ApplyOptions{FieldManager: "one"})
	say("nothing any more", is.Data, managers(is), err)

	labels := map[string]string{"app": "web"}
	container := coreapply.Container().WithName("c").WithImage("x:1").WithPorts(coreapply.ContainerPort().WithContainerPort(80))
	web := appsapply.Deployment("web", w.namespace).WithSpec(appsapply.DeploymentSpec().WithReplicas(0).
		WithSelector(metaapply.LabelSelector().WithMatchLabels(labels)).
		WithTemplate(coreapply.PodTemplateSpec().WithLabels(labels).WithSpec(coreapply.PodSpec().WithContainers(container))))
	deployments := w.typed.AppsV1().Deployments(w.namespace)
	d, err := deployments.Apply(w, web, metav1.ApplyOptions{FieldManager: "one"})
	say("deployment", d.Generation, d.Spec.Template.Spec.Containers[0].Ports, err)
	sidecar := appsapply.Deployment("web", w.namespace).WithSpec(appsapply.DeploymentSpec().
		WithTemplate(coreapply.PodTemplateSpec().WithSpec(coreapply.PodSpec().WithContainers(coreapply.Container().WithName("side").WithImage("y:1")))))
	d, err = deployments.Apply(w, sidecar, metav1.ApplyOptions{FieldManager: "two"})
	if err != nil {
		say("a container more", err)
	} else {
		say("a container more", d.Generation, len(d.Spec.Template.Spec.Containers))
	}
	_, err = deployments.Patch(w, "web", types.ApplyPatchType, []byte(`{"apiVersion":"apps/v1","kind":"Deployment","spec":{"unknown":1}}`),
		metav1.PatchOptions{FieldManager: "three", FieldValidation: metav1.FieldValidationStrict})
	say("an unknown field", err)
	_, err = deployments.Patch(w, "web", types.ApplyYAMLPatchType, []byte("apiVersion: apps/v1\nkind: Deployment\nspec: {paused: true}\n"), metav1.PatchOptions{FieldManager: "three"})
	say("yaml", err)
	available := appsapply.DeploymentCondition().WithType("example.com/Fine").WithStatus(corev1.ConditionTrue)
	d, err = deployments.ApplyStatus(w, appsapply.Deployment("web", w.namespace).WithStatus(appsapply.DeploymentStatus().WithConditions(available)), metav1.ApplyOptions{FieldManager: "status"})
	found := slices.ContainsFunc(d.ManagedFields, func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager == "status" && f.Subresource == "status"
	})
	say("status", found, err)
}

func managers(object metav1.Object) (all []string) {
	for _, entry := range object.GetManagedFields() {
		all = append(all, entry.Manager+"/"+string(entry.Operation)+" "+string(entry.FieldsV1.Raw))
	}
	slices.Sort(all)
	return all
}

// next tells the next event that is no bookmark.
func next(events <-chan watch.Event) string {
	for {
		select {
		case event, open := <-events:
			if !open {
				return "closed"
			}
			if event.Type == watch.Bookmark {
				continue
			}
			if event.Type == watch.Error {
				status, _ := event.Object.(*metav1.Status)
				return fmt.Sprintf("ERROR %d %s", status.Code, status.Reason)
			}
			object, _ := meta.Accessor(event.Object)
			return string(event.Type) + " " + object.GetName() + " " + object.GetLabels()["color"]
		case <-time.After(10 * time.Second):
			return "nothing"
		}
	}
}

func watchScene(w *world) {
	maps := w.typed.CoreV1().ConfigMaps(w.namespace)
	a, err := maps.Create(w, configMap("a", "red"), metav1.CreateOptions{})
	say("create", err)
	stream, err := maps.Watch(w, metav1.ListOptions{ResourceVersion: a.ResourceVersion, LabelSelector: "color=red"})
	say("watch", err)
	b, _ := maps.Create(w, configMap("b", "blue"), metav1.CreateOptions{})
	c, _ := maps.Create(w, configMap("c", "red"), metav1.CreateOptions{})
	say("a new one", next(stream.ResultChan()))
	c.Labels["color"] = "blue"
	c, _ = maps.Update(w, c, metav1.UpdateOptions{})
	say("one that left", next(stream.ResultChan()))
	b.Labels["color"] = "red"
	_, _ = maps.Update(w, b, metav1.UpdateOptions{})
	say("one that came", next(stream.ResultChan()))
	_ = maps.Delete(w, "b", metav1.DeleteOptions{})
	say("one that went", next(stream.ResultChan()))
	stream.Stop()
	// Later, from where it was: nothing is lost and nothing comes twice.
	lister := &cache.ListWatch{WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		return maps.Watch(ctx, options)
	}}
	again, err := watchtools.NewRetryWatcherWithContext(w, a.ResourceVersion, lister)
	say("again", err)
	for range 5 {
		say("told", next(again.ResultChan()))
	}
	_, _ = maps.Create(w, configMap("d", "red"), metav1.CreateOptions{})
	say("and then", next(again.ResultChan()))
	again.Stop()
	first, err := maps.Watch(w, metav1.ListOptions{})
	say("from the start", err)
	seen := []string{next(first.ResultChan()), next(first.ResultChan()), next(first.ResultChan()), next(first.ResultChan())}
	slices.Sort(seen)
	say("what is there", seen)
	first.Stop()
	timeout := int64(1)
	short, err := maps.Watch(w, metav1.ListOptions{ResourceVersion: c.ResourceVersion, TimeoutSeconds: &timeout, FieldSelector: "metadata.name=nothing"})
	say("for a second", err, next(short.ResultChan()))
	old, err := maps.Watch(w, metav1.ListOptions{ResourceVersion: "1"})
	if err == nil {
		say("from the first of all versions", next(old.ResultChan()) != "")
		old.Stop()
	}
	_, err = maps.Watch(w, metav1.ListOptions{ResourceVersion: "nonsense"})
	say("from nonsense", err)
	go func() {
		time.Sleep(200 * time.Millisecond)
		_ = maps.Delete(w, "d", metav1.DeleteOptions{})
	}()
	last, err := watchtools.UntilWithSync(w, cache.NewListWatchFromClient(w.typed.CoreV1().RESTClient(), "configmaps", w.namespace, fields.OneTermEqualSelector("metadata.name", "d")),
		&corev1.ConfigMap{}, nil, func(event watch.Event) (bool, error) { return event.Type == watch.Deleted, nil })
	say("until it is deleted", last != nil, err)
}

// A journal has what handlers were told.
type journal struct {
	sync.Mutex
	lines []string
}

func (j *journal) add(format string, values ...any) {
	j.Lock()
	defer j.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, values...))
}

func (j *journal) has(count int) func() bool {
	return func() bool {
		j.Lock()
		defer j.Unlock()
		return len(j.lines) >= count
	}
}

func (j *journal) handler() cache.ResourceEventHandlerFuncs {
	name := func(object any) string {
		if gone, is := object.(cache.DeletedFinalStateUnknown); is {
			object = gone.Obj
		}
		accessor, _ := meta.Accessor(object)
		return accessor.GetName() + " " + accessor.GetLabels()["color"]
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { j.add("+ %s", name(object)) },
		UpdateFunc: func(old, object any) { j.add("~ %s -> %s", name(old), name(object)) },
		DeleteFunc: func(object any) { j.add("- %s", name(object)) },
	}
}

func informersScene(w *world) {
	maps := w.typed.CoreV1().ConfigMaps(w.namespace)
	_, _ = maps.Create(w, configMap("a", "red"), metav1.CreateOptions{})
	ctx, cancel := context.WithCancel(w)
	defer cancel()
	typed, meta := &journal{}, &journal{}
	only := func(options *metav1.ListOptions) { options.LabelSelector = "color" }
	factory := informers.NewSharedInformerFactoryWithOptions(w.typed, 0, informers.WithNamespace(w.namespace), informers.WithTweakListOptions(only))
	informer := factory.Core().V1().ConfigMaps()
	_, err := informer.Informer().AddEventHandler(typed.handler())
	say("handler", err)
	metas := metadatainformer.NewFilteredSharedInformerFactory(metadata.NewForConfigOrDie(w.config), 0, w.namespace, only)
	of := metas.ForResource(corev1.SchemeGroupVersion.WithResource("configmaps"))
	_, err = of.Informer().AddEventHandler(meta.handler())
	say("handler of metadata", err)
	factory.Start(ctx.Done())
	metas.Start(ctx.Done())
	say("synced", cache.WaitForCacheSync(ctx.Done(), informer.Informer().HasSynced, of.Informer().HasSynced))
	w.until("the first", typed.has(1))
	w.until("the first of metadata", meta.has(1))
	b, _ := maps.Create(w, configMap("b", "red"), metav1.CreateOptions{})
	b.Labels["color"] = "blue"
	b, _ = maps.Update(w, b, metav1.UpdateOptions{})
	_ = maps.Delete(w, "a", metav1.DeleteOptions{})
	b.Labels = nil
	_, _ = maps.Update(w, b, metav1.UpdateOptions{})
	_, _ = maps.Create(w, configMap("c", "green"), metav1.CreateOptions{})
	w.until("all", typed.has(6))
	w.until("all of metadata", meta.has(6))
	say("told", typed.lines)
	say("told of metadata", meta.lines)
	listed, err := informer.Lister().ConfigMaps(w.namespace).Get("c")
	say("in the cache", listed.Data, err)
	all, _ := informer.Lister().List(everything)
	say("of them", len(all))
}

func access(w *world) {
	roles := w.typed.RbacV1().Roles(w.namespace)
	_, err := roles.Create(w, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list"}},
		{APIGroups: []string{"rbac.authorization.k8s.io"}, Resources: []string{"roles", "rolebindings"}, Verbs: []string{"create"}},
	}}, metav1.CreateOptions{})
	say("role", err)
	_, err = w.typed.RbacV1().RoleBindings(w.namespace).Create(w, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "r"}, RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: "r"},
		Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: "bob"}},
	}, metav1.CreateOptions{})
	say("binding", err)
	config := rest.CopyConfig(w.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "bob"}
	bob := kubernetes.NewForConfigOrDie(config)
	list, err := bob.CoreV1().ConfigMaps(w.namespace).List(w, metav1.ListOptions{})
	say("bob lists", len(list.Items), err)
	_, err = bob.CoreV1().ConfigMaps(w.namespace).Create(w, configMap("a", "red"), metav1.CreateOptions{})
	say("bob creates", err)
	_, err = bob.CoreV1().Secrets(w.namespace).List(w, metav1.ListOptions{})
	say("bob lists secrets", err)
	_, err = bob.CoreV1().Nodes().List(w, metav1.ListOptions{})
	say("bob lists nodes", err)
	_, err = bob.RbacV1().Roles(w.namespace).Create(w, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "more"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}}}}, metav1.CreateOptions{})
	say("bob wants more", err)
	_, err = bob.RbacV1().RoleBindings(w.namespace).Create(w, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "more"}, RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: "bob"}},
	}, metav1.CreateOptions{})
	say("bob wants all", err)
	for _, attributes := range []authorizationv1.ResourceAttributes{
		{Namespace: w.namespace, Verb: "get", Resource: "configmaps"},
		{Namespace: w.namespace, Verb: "delete", Resource: "configmaps"},
		{Verb: "list", Resource: "nodes"},
	} {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &attributes}}
		answer, err := bob.AuthorizationV1().SelfSubjectAccessReviews().Create(w, review, metav1.CreateOptions{})
		say("may bob "+attributes.Verb, answer.Status.Allowed, answer.Status.Reason, err)
	}
	rules, err := bob.AuthorizationV1().SelfSubjectRulesReviews().Create(w, &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: w.namespace}}, metav1.CreateOptions{})
	say("rules of bob", len(rules.Status.ResourceRules), len(rules.Status.NonResourceRules), rules.Status.Incomplete, err)
	nobody := kubernetes.NewForConfigOrDie(rest.AnonymousClientConfig(w.config))
	_, err = nobody.CoreV1().ConfigMaps(w.namespace).List(w, metav1.ListOptions{})
	say("nobody", err)
	wrong := rest.CopyConfig(w.config)
	wrong.BearerToken = "nonsense"
	wrong.BearerTokenFile = ""
	wrong.TLSClientConfig.CertData, wrong.TLSClientConfig.KeyData = nil, nil
	_, err = kubernetes.NewForConfigOrDie(wrong).CoreV1().ConfigMaps(w.namespace).List(w, metav1.ListOptions{})
	say("a wrong token", err)
}

func leaders(w *world) {
	told := &journal{}
	candidate := func(ctx context.Context, name string, release bool) chan struct{} {
		lock := &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Name: "lead", Namespace: w.namespace}, Client: w.typed.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: name},
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
				Lock: lock, LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 200 * time.Millisecond, ReleaseOnCancel: release,
				Callbacks: leaderelection.LeaderCallbacks{
					OnStartedLeading: func(context.Context) { told.add("%s leads", name) },
					OnStoppedLeading: func() { told.add("%s ends", name) },
				},
			})
		}()
		return done
	}
	one, stop := context.WithCancel(w)
	first := candidate(one, "one", true)
	w.until("the first leads", told.has(1))
	two, end := context.WithCancel(w)
	second := candidate(two, "two", true)
	time.Sleep(500 * time.Millisecond)
	stop()
	<-first
	w.until("the second leads", told.has(3))
	end()
	<-second
	say("told", told.lines)
	lease, err := w.typed.CoordinationV1().Leases(w.namespace).Get(w, "lead", metav1.GetOptions{})
	say("lease", *lease.Spec.LeaseTransitions, err)
}

func eventsScene(w *world) {
	object, _ := w.typed.CoreV1().ConfigMaps(w.namespace).Create(w, configMap("a", "red"), metav1.CreateOptions{})
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedcore.EventSinkImpl{Interface: w.typed.CoreV1().Events(w.namespace)})
	recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "clientgo"})
	for range 3 {
		recorder.Eventf(object, corev1.EventTypeWarning, "Again", "the same %s", "thing")
	}
	recorder.Event(object, corev1.EventTypeNormal, "Once", "another thing")
	counted := func() (all []string) {
		list, err := w.typed.CoreV1().Events(w.namespace).List(w, metav1.ListOptions{FieldSelector: "involvedObject.name=a,involvedObject.kind=ConfigMap"})
		if err != nil {
			return []string{fault(err)}
		}
		for _, e := range list.Items {
			all = append(all, fmt.Sprintf("%s %s %s %d %s", e.Type, e.Reason, e.Message, e.Count, e.Source.Component))
		}
		slices.Sort(all)
		return all
	}
	w.until("counted", func() bool { return strings.Contains(strings.Join(counted(), ","), "thing 3") && len(counted()) == 2 })
	say("events", counted())
	broadcaster.Shutdown()
	newer := events.NewBroadcaster(&events.EventSinkImpl{Interface: w.typed.EventsV1()})
	ctx, cancel := context.WithCancel(w)
	defer cancel()
	say("newer", newer.StartRecordingToSinkWithContext(ctx))
	newer.NewRecorder(scheme.Scheme, "clientgo.example.com/new").Eventf(object, nil, corev1.EventTypeNormal, "Newer", "Looking", "seen %d", 1)
	find := func() []string {
		list, err := w.typed.EventsV1().Events(w.namespace).List(w, metav1.ListOptions{FieldSelector: "reason=Newer"})
		if err != nil {
			return []string{fault(err)}
		}
		all := []string{}
		for _, e := range list.Items {
			all = append(all, fmt.Sprintf("%s %s %s %s %s", e.Type, e.Reason, e.Action, e.Note, e.ReportingController))
		}
		return all
	}
	w.until("the newer one", func() bool { return len(find()) == 1 })
	say("newer events", find())
	_, err := w.typed.CoreV1().Events(w.namespace).Create(w, &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "wrong"}}, metav1.CreateOptions{})
	say("a wrong event", err)
}

func forms(w *world) {
	_, _ = w.typed.CoreV1().ConfigMaps(w.namespace).Create(w, configMap("a", "red"), metav1.CreateOptions{})
	meta := metadata.NewForConfigOrDie(w.config).Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(w.namespace)
	one, err := meta.Get(w, "a", metav1.GetOptions{})
	say("metadata", one.Kind, one.APIVersion, one.Name, one.Labels, err)
	list, err := meta.List(w, metav1.ListOptions{LabelSelector: "color"})
	say("a list of metadata", list.Kind, len(list.Items), err)
	patched, err := meta.Patch(w, "a", types.MergePatchType, []byte(`{"metadata":{"labels":{"x":"y"}}}`), metav1.PatchOptions{})
	say("patched metadata", patched.Kind, patched.Labels, err)
	client := w.typed.CoreV1().RESTClient()
	table := &metav1.Table{}
	text, err := client.Get().Namespace(w.namespace).Resource("configmaps").Param("labelSelector", "color").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(w)
	say("a table", err)
	if err == nil {
		err = runtime.DecodeInto(scheme.Codecs.UniversalDeserializer(), text, table)
		columns := []string{}
		for _, column := range table.ColumnDefinitions {
			columns = append(columns, column.Name+" "+column.Type+" "+column.Format)
		}
		say("columns", columns, len(table.Rows), table.Rows[0].Cells[:2], err)
	}
	_, err = client.Get().Namespace(w.namespace).Resource("configmaps").SetHeader("Accept", "application/xml").DoRaw(w)
	say("a form that is not there", err)
	_, err = client.Post().Namespace(w.namespace).Resource("configmaps").SetHeader("Content-Type", "text/plain").Body([]byte("a=b")).DoRaw(w)
	say("a body of no known form", err)
	_, err = client.Put().Namespace(w.namespace).Resource("configmaps").Body([]byte("{}")).DoRaw(w)
	say("a verb that is not there", err)
	_, err = client.Get().Namespace(w.namespace).Resource("configmaps").Name("a").SubResource("nothing").DoRaw(w)
	say("a part that is not there", err)
}
