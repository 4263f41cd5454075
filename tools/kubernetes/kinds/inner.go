package main

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kubernetes/pkg/apis/apps"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/policy"
	"k8s.io/kubernetes/pkg/apis/storage"
)

// inner writes the server's own types whose values it shows in its messages: the name, and for each field the name,
// the key of the API (`^key`: of the object around it) and the form.
func inner() {
	roots := [][2]any{
		{core.PodTemplateSpec{}, corev1.PodTemplateSpec{}},
		{core.PersistentVolumeClaimSpec{}, corev1.PersistentVolumeClaimSpec{}},
		{core.PersistentVolumeSource{}, corev1.PersistentVolumeSource{}},
		{core.VolumeNodeAffinity{}, corev1.VolumeNodeAffinity{}},
		{core.ScopeSelector{}, corev1.ScopeSelector{}},
		{core.ObjectReference{}, corev1.ObjectReference{}},
		{core.EventSource{}, corev1.EventSource{}},
		{apps.DeploymentStrategy{}, appsv1.DeploymentStrategy{}},
		{apps.DaemonSetUpdateStrategy{}, appsv1.DaemonSetUpdateStrategy{}},
		{apps.StatefulSetUpdateStrategy{}, appsv1.StatefulSetUpdateStrategy{}},
		{batch.PodFailurePolicy{}, batchv1.PodFailurePolicy{}},
		{batch.SuccessPolicy{}, batchv1.SuccessPolicy{}},
		{policy.PodDisruptionBudgetSpec{}, policyv1.PodDisruptionBudgetSpec{}},
		{storage.VolumeAttachmentSpec{}, storagev1.VolumeAttachmentSpec{}},
	}
	lines := map[string]string{}
	for _, root := range roots {
		innerType(reflect.TypeOf(root[0]), reflect.TypeOf(root[1]), lines)
	}
	var names []string
	for name := range lines {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Fprintln(out, lines[name])
	}
}

func innerName(t reflect.Type) string {
	path := strings.Split(t.PkgPath(), "/")
	return path[len(path)-1] + "." + t.Name()
}

// innerForm says how a value of a type is shown.
func innerForm(own, api reflect.Type, lines map[string]string) string {
	switch own {
	case reflect.TypeOf(resource.Quantity{}):
		return "q"
	case reflect.TypeOf(metav1.Time{}), reflect.TypeOf(metav1.MicroTime{}):
		return "t"
	case reflect.TypeOf(intstr.IntOrString{}):
		return "n"
	case reflect.TypeOf(metav1.ObjectMeta{}):
		return "m"
	}
	elem := func() reflect.Type {
		if api != nil && (api.Kind() == reflect.Pointer || api.Kind() == reflect.Slice || api.Kind() == reflect.Map) {
			return api.Elem()
		}
		return api
	}
	switch own.Kind() {
	case reflect.String:
		return "s"
	case reflect.Bool:
		return "b"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint8:
		return "i"
	case reflect.Pointer:
		return "*" + innerForm(own.Elem(), elem(), lines)
	case reflect.Slice:
		return "[" + innerForm(own.Elem(), elem(), lines)
	case reflect.Map:
		return "{" + innerForm(own.Elem(), elem(), lines)
	case reflect.Struct:
		if !strings.Contains(own.PkgPath(), "k8s.io/kubernetes/") {
			return "j"
		}
		if api != nil && api.Kind() == reflect.Pointer {
			api = api.Elem()
		}
		innerType(own, api, lines)
		return innerName(own)
	}
	return "j"
}

func innerType(own, api reflect.Type, lines map[string]string) {
	name := innerName(own)
	if _, known := lines[name]; known {
		return
	}
	lines[name] = name
	words := []string{name}
	for i := range own.NumField() {
		field := own.Field(i)
		key, theirs := innerKey(field.Name, api)
		if field.Anonymous && field.Type == reflect.TypeOf(metav1.ObjectMeta{}) {
			words = append(words, "ObjectMeta=metadata:m")
			continue
		}
		if field.Anonymous && field.Type.Kind() == reflect.Struct && key == "" {
			// Fields of embedded types stand where the type stands.
			for j := range field.Type.NumField() {
				inside := field.Type.Field(j)
				key, theirs := innerKey(inside.Name, api)
				words = append(words, inside.Name+"="+key+":"+innerForm(inside.Type, theirs, lines))
			}
			continue
		}
		if key == "" {
			key = "^" + strings.ToLower(field.Name[:1]) + field.Name[1:]
			if strings.HasPrefix(field.Name, "HostPID") || strings.HasPrefix(field.Name, "HostIPC") {
				key = "^host" + field.Name[4:]
			}
		}
		words = append(words, field.Name+"="+key+":"+innerForm(field.Type, theirs, lines))
	}
	lines[name] = strings.Join(words, " ")
}

// innerKey finds the field of the API that has a name, also among embedded ones.
func innerKey(name string, api reflect.Type) (string, reflect.Type) {
	if api == nil || api.Kind() != reflect.Struct {
		return "", nil
	}
	field, found := api.FieldByName(name)
	if !found {
		return "", nil
	}
	key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return key, field.Type
}
