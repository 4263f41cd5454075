// A client of a Kubernetes API that uses client-go and controller-runtime the way controllers do, and says what it saw:
//
//	clientgo [scene ...]     with KUBECONFIG; all scenes without one
//
// Nothing that a server makes up (uids, versions, times) is printed, so that what two servers say can be compared.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// A world is what every scene has: a namespace of its own and clients of it.
type world struct {
	context.Context
	config    *rest.Config
	namespace string
	typed     kubernetes.Interface
	dynamic   dynamic.Interface
}

type scene struct {
	name string
	play func(*world)
}

var scenes = []scene{
	{"discovery", discoveryScene},
	{"writes", writes},
	{"lists", lists},
	{"patches", patches},
	{"deletions", deletions},
	{"subresources", subresources},
	{"apply", applyScene},
	{"watch", watchScene},
	{"informers", informersScene},
	{"custom", custom},
	{"access", access},
	{"leaders", leaders},
	{"events", eventsScene},
	{"forms", forms},
	{"manager", managerScene},
}

func main() {
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	log.SetLogger(logr.Discard())
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	config.QPS, config.Burst = 1000, 1000
	played := 0
	for _, scene := range scenes {
		if len(os.Args) > 1 && !slices.Contains(os.Args[1:], scene.name) {
			continue
		}
		fmt.Printf("== %s\n", scene.name)
		play(scene, rest.CopyConfig(config))
		played++
	}
	if played == 0 {
		fmt.Fprintln(os.Stderr, "no such scene")
		os.Exit(2)
	}
}

func play(scene scene, config *rest.Config) {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	// Built-in kinds in the binary form, as controllers send and ask for them.
	binary := rest.CopyConfig(config)
	binary.ContentType = "application/vnd.kubernetes.protobuf"
	binary.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	w := &world{
		Context: ctx, config: config, namespace: "clientgo-" + scene.name,
		typed: kubernetes.NewForConfigOrDie(binary), dynamic: dynamic.NewForConfigOrDie(config),
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	_, err := w.typed.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	say("namespace", err)
	// Its default account and root certificate come by themselves, and would be in the way of lists.
	w.until("the namespace is furnished", func() bool {
		_, account := w.typed.CoreV1().ServiceAccounts(w.namespace).Get(ctx, "default", metav1.GetOptions{})
		_, root := w.typed.CoreV1().ConfigMaps(w.namespace).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		return account == nil && root == nil
	})
	scene.play(w)
	err = w.typed.CoreV1().Namespaces().Delete(ctx, w.namespace, metav1.DeleteOptions{})
	say("the end", err)
}

// say prints what came of something: values, and for errors how clients tell them apart.
func say(what string, values ...any) {
	words := []string{}
	for _, value := range values {
		switch value := value.(type) {
		case nil:
			words = append(words, "ok")
		case error:
			words = append(words, fault(value))
		default:
			words = append(words, fmt.Sprintf("%v", value))
		}
	}
	fmt.Printf("%s: %s\n", what, strings.Join(words, " | "))
}

func fault(err error) string {
	status, known := err.(apierrors.APIStatus)
	if !known {
		return "error " + err.Error()
	}
	s := status.Status()
	text := fmt.Sprintf("%d %s %q", s.Code, s.Reason, withoutObject(s.Message))
	if s.Details != nil {
		text += fmt.Sprintf(" of %s %s %s", s.Details.Group, s.Details.Kind, s.Details.Name)
		for _, cause := range s.Details.Causes {
			text += fmt.Sprintf(" [%s %s %q]", cause.Type, cause.Field, withoutObject(cause.Message))
		}
	}
	return text
}

// withoutObject leaves out a whole object that a message quotes: it has uids and times.
func withoutObject(message string) string {
	begin, end := strings.Index(message, `"{`), strings.LastIndex(message, `}"`)
	if begin < 0 || end < begin {
		return message
	}
	return message[:begin] + "OBJECT" + message[end+2:]
}

// until waits for something that has to come.
func (w *world) until(what string, is func() bool) {
	for begin := time.Now(); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Since(begin) > 20*time.Second || w.Err() != nil {
			say(what, "never")
			return
		}
	}
	say(what, nil)
}

func configMap(name, color string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"color": color}},
		Data:       map[string]string{"color": color},
	}
}
