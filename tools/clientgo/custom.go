package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

var everything = labels.Everything()

const group = "clientgo.example.com"

var wheels = schema.GroupVersionResource{Group: group, Version: "v1", Resource: "wheels"}

func definition(group string) *apiextensionsv1.CustomResourceDefinition {
	number := apiextensionsv1.JSONSchemaProps{Type: "integer", Minimum: ptr.To(1.0), Default: &apiextensionsv1.JSON{Raw: []byte("4")}}
	spec := apiextensionsv1.JSONSchemaProps{
		Type: "object",
		Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"size":     number,
			"name":     {Type: "string", MaxLength: ptr.To(int64(10))},
			"replicas": {Type: "integer", Format: "int32"},
		},
		XValidations: apiextensionsv1.ValidationRules{{Rule: "self.size < 100", Message: "too large"}},
	}
	status := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
		"phase": {Type: "string"}, "replicas": {Type: "integer", Format: "int32"},
	}}
	version := func(name string, storage bool) apiextensionsv1.CustomResourceDefinitionVersion {
		return apiextensionsv1.CustomResourceDefinitionVersion{
			Name: name, Served: true, Storage: storage,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
				Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": spec, "status": status},
			}},
			Subresources: &apiextensionsv1.CustomResourceSubresources{
				Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
				Scale:  &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas"},
			},
			SelectableFields: []apiextensionsv1.SelectableField{{JSONPath: ".spec.name"}},
		}
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "wheels." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names:    apiextensionsv1.CustomResourceDefinitionNames{Plural: "wheels", Kind: "Wheel", ShortNames: []string{"wh"}, Categories: []string{"all"}},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{version("v1", true), version("v1beta1", false)},
		},
	}
}

func wheel(name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/v1", "kind": "Wheel", "metadata": map[string]any{"name": name}, "spec": spec,
	}}
}

// define makes a kind and waits until it is served.
func (w *world) define(group string) {
	definitions := apiextensions.NewForConfigOrDie(w.config).ApiextensionsV1().CustomResourceDefinitions()
	_, err := definitions.Create(w, definition(group), metav1.CreateOptions{})
	say("define", err)
	w.until("established", func() bool {
		is, err := definitions.Get(w, "wheels."+group, metav1.GetOptions{})
		return err == nil && slices.ContainsFunc(is.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
			return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
		})
	})
	is, err := definitions.Get(w, "wheels."+group, metav1.GetOptions{})
	say("names", is.Status.AcceptedNames.Plural, is.Status.AcceptedNames.Singular, is.Status.AcceptedNames.ListKind, is.Status.StoredVersions, err)
	w.until("served", func() bool {
		_, err := w.dynamic.Resource(wheels.GroupResource().WithVersion("v1")).Namespace(w.namespace).List(w, metav1.ListOptions{})
		return err == nil || group != wheels.Group
	})
}

func custom(w *world) {
	w.define(group)
	definitions := apiextensions.NewForConfigOrDie(w.config).ApiextensionsV1().CustomResourceDefinitions()
	broken := definition(group)
	broken.Name = "other.example.com"
	broken.Spec.Versions[1].Storage = true
	broken.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["bad"] = apiextensionsv1.JSONSchemaProps{}
	_, err := definitions.Create(w, broken, metav1.CreateOptions{})
	say("a broken definition", err)

	here := w.dynamic.Resource(wheels).Namespace(w.namespace)
	ctx, cancel := context.WithCancel(w)
	defer cancel()
	told := &journal{}
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(w.dynamic, 0, w.namespace, nil)
	informer := factory.ForResource(wheels).Informer()
	_, _ = informer.AddEventHandler(told.handler())
	factory.Start(ctx.Done())
	say("synced", cache.WaitForCacheSync(ctx.Done(), informer.HasSynced))

	is, err := here.Create(w, wheel("a", map[string]any{"unknown": "x", "name": "front"}), metav1.CreateOptions{})
	say("create", is.Object["spec"], is.GetGeneration(), err)
	_, err = here.Create(w, wheel("b", map[string]any{"unknown": "x"}), metav1.CreateOptions{FieldValidation: "Strict"})
	say("strictly", err)
	for _, spec := range []map[string]any{{"size": int64(0)}, {"size": int64(100)}, {"size": "x"}, {"name": "far too long for it"}} {
		_, err = here.Create(w, wheel("b", spec), metav1.CreateOptions{})
		say("refused", err)
	}
	is.Object["status"] = map[string]any{"phase": "Lost"}
	is.Object["spec"].(map[string]any)["size"] = int64(5)
	is, err = here.Update(w, is, metav1.UpdateOptions{})
	say("update", is.Object["spec"], is.Object["status"], is.GetGeneration(), err)
	is.Object["status"] = map[string]any{"phase": "Fine", "nonsense": true}
	is.Object["spec"].(map[string]any)["size"] = int64(6)
	is, err = here.UpdateStatus(w, is, metav1.UpdateOptions{})
	say("status", is.Object["spec"], is.Object["status"], is.GetGeneration(), err)
	is, err = here.Patch(w, "a", types.MergePatchType, []byte(`{"spec":{"name":null}}`), metav1.PatchOptions{})
	say("merge", is.Object["spec"], is.GetGeneration(), err)
	is, err = here.Patch(w, "a", types.JSONPatchType, []byte(`[{"op":"replace","path":"/spec/size","value":7}]`), metav1.PatchOptions{})
	say("json", is.Object["spec"], is.GetGeneration(), err)
	_, err = here.Patch(w, "a", types.StrategicMergePatchType, []byte(`{}`), metav1.PatchOptions{})
	say("strategic", err)
	is, err = here.Apply(w, "a", wheel("a", map[string]any{"name": "rear", "replicas": int64(2)}), metav1.ApplyOptions{FieldManager: "applier"})
	say("apply", is.Object["spec"], err)
	_, err = here.Apply(w, "a", wheel("a", map[string]any{"size": int64(9)}), metav1.ApplyOptions{FieldManager: "applier"})
	say("a conflict", err)
	scaled, err := here.Patch(w, "a", types.MergePatchType, []byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{}, "scale")
	say("scale", scaled.GetKind(), scaled.Object["spec"], err)
	other, err := w.dynamic.Resource(wheels.GroupResource().WithVersion("v1beta1")).Namespace(w.namespace).Get(w, "a", metav1.GetOptions{})
	say("in the other version", other.GetAPIVersion(), other.Object["spec"], err)
	_, _ = here.Create(w, wheel("c", map[string]any{"name": "c"}), metav1.CreateOptions{})
	for _, selector := range []string{"spec.name=rear", "spec.name!=rear", "spec.size=7", "metadata.name=c"} {
		list, err := here.List(w, metav1.ListOptions{FieldSelector: selector})
		found := []string{}
		if err == nil {
			for _, one := range list.Items {
				found = append(found, one.GetName())
			}
		}
		say("fields "+selector, found, err)
	}
	say("delete", here.Delete(w, "a", metav1.DeleteOptions{}))
	say("delete all", here.DeleteCollection(w, metav1.DeleteOptions{}, metav1.ListOptions{}))
	w.until("told", func() bool { return told.has(1)() && told.lines[len(told.lines)-1] == "- c " })
	say("told", told.lines)
	say("undefine", definitions.Delete(w, "wheels."+group, metav1.DeleteOptions{}))
	w.until("gone", func() bool {
		_, err := definitions.Get(w, "wheels."+group, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	w.until("not served", func() bool {
		_, err := here.List(w, metav1.ListOptions{})
		return apierrors.IsNotFound(err)
	})
	_, err = here.List(w, metav1.ListOptions{})
	say("not served any more", err)
}

// A painter gives every labelled ConfigMap a Secret of its color, and takes it away again before the ConfigMap goes.
type painter struct {
	client.Client
	told *journal
}

const finalizer = "clientgo.example.com/painter"

func (p *painter) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var of corev1.ConfigMap
	if err := p.Get(ctx, request.NamespacedName, &of); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if of.Labels["color"] == "" {
		return ctrl.Result{}, nil
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: of.Name + "-paint", Namespace: of.Namespace}}
	if !of.DeletionTimestamp.IsZero() {
		if controllerutil.RemoveFinalizer(&of, finalizer) {
			p.told.add("%s goes", of.Name)
			return ctrl.Result{}, p.Update(ctx, &of)
		}
		return ctrl.Result{}, nil
	}
	if !controllerutil.ContainsFinalizer(&of, finalizer) {
		before := of.DeepCopy()
		controllerutil.AddFinalizer(&of, finalizer)
		if err := p.Patch(ctx, &of, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return ctrl.Result{}, err
		}
	}
	result, err := controllerutil.CreateOrUpdate(ctx, p.Client, secret, func() error {
		secret.Data = map[string][]byte{"color": []byte(of.Labels["color"])}
		return controllerutil.SetControllerReference(&of, secret, p.Scheme())
	})
	if err == nil && result != controllerutil.OperationResultNone {
		p.told.add("%s %s %s", secret.Name, result, secret.Data["color"])
	}
	return ctrl.Result{}, err
}

func managerScene(w *world) {
	ctx, cancel := context.WithCancel(w)
	defer cancel()
	manager, err := ctrl.NewManager(w.config, ctrl.Options{
		Scheme: scheme.Scheme, Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		LeaderElection: true, LeaderElectionID: "painter", LeaderElectionNamespace: w.namespace, LeaderElectionReleaseOnCancel: true,
		Cache:                   ctrlcache.Options{DefaultNamespaces: map[string]ctrlcache.Config{w.namespace: {}}},
		Controller:              config.Controller{SkipNameValidation: ptr.To(true)},
		GracefulShutdownTimeout: ptr.To(5 * time.Second),
	})
	say("manager", err)
	told := &journal{}
	say("index", manager.GetFieldIndexer().IndexField(ctx, &corev1.ConfigMap{}, "color", func(object client.Object) []string {
		return []string{object.GetLabels()["color"]}
	}))
	say("controller", ctrl.NewControllerManagedBy(manager).For(&corev1.ConfigMap{}).Owns(&corev1.Secret{}).
		Complete(&painter{manager.GetClient(), told}))
	done := make(chan error)
	go func() { done <- manager.Start(ctx) }()
	say("synced", manager.GetCache().WaitForCacheSync(ctx))
	direct, err := client.New(w.config, client.Options{Scheme: scheme.Scheme})
	say("client", err)
	key := client.ObjectKey{Namespace: w.namespace, Name: "a"}
	a := configMap("a", "red")
	a.Namespace = w.namespace
	say("create", direct.Create(w, a))
	paint := func(color string) func() bool {
		return func() bool {
			var secret corev1.Secret
			err := direct.Get(w, client.ObjectKey{Namespace: w.namespace, Name: "a-paint"}, &secret)
			return err == nil && string(secret.Data["color"]) == color && secret.OwnerReferences[0].Name == "a"
		}
	}
	w.until("painted", paint("red"))
	say("repaint", direct.Patch(w, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: w.namespace}},
		client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"color":"blue"}}}`))))
	w.until("repainted", paint("blue"))
	say("remove the paint", direct.Delete(w, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a-paint", Namespace: w.namespace}}))
	w.until("painted again", paint("blue"))
	w.until("found by color", func() bool {
		var list corev1.ConfigMapList
		err := manager.GetClient().List(w, &list, client.InNamespace(w.namespace), client.MatchingFields{"color": "blue"})
		return err == nil && len(list.Items) == 1
	})
	partial := &metav1.PartialObjectMetadata{}
	partial.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	say("metadata from the cache", manager.GetClient().Get(w, key, partial), partial.Finalizers)
	status := deployment("web", 0)
	status.Namespace = w.namespace
	status.Spec.Paused = true
	say("deployment", direct.Create(w, status))
	say("applied", direct.Apply(w, client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "applied", "namespace": w.namespace},
		"data": map[string]any{"x": "y"},
	}}), client.FieldOwner("clientgo")))
	say("delete", direct.Delete(w, a, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	w.until("all is gone", func() bool {
		return apierrors.IsNotFound(direct.Get(w, key, &corev1.ConfigMap{})) &&
			apierrors.IsNotFound(direct.Get(w, client.ObjectKey{Namespace: w.namespace, Name: "a-paint"}, &corev1.Secret{}))
	})
	say("delete all", direct.DeleteAllOf(w, &corev1.ConfigMap{}, client.InNamespace(w.namespace), client.MatchingLabels{"color": "none"}))
	cancel()
	select {
	case err := <-done:
		say("ended", err)
	case <-time.After(10 * time.Second):
		say("ended", "never")
	}
	told.Lock()
	defer told.Unlock()
	for _, line := range told.lines {
		fmt.Println(" ", line)
	}
}
