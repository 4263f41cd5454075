// What the Kubernetes packages themselves say of the built-in kinds: facts for the table, and answers to compare with.
//
//	kinds types              reads "group version kind" lines, writes the types as lines of the table
//	kinds protobuf SEED N    N random objects per kind (read as above): kind, protobuf in hex, JSON
//	kinds read SEED N        N random bodies per kind: what the types of the version make of each
//	kinds decode SEED N      the same, but defaulted, and through the server's own types and back
//	kinds table SEED N       N random objects per kind and the cells of their rows
//	kinds convert SEED N     N random objects of the kinds that are served in two versions, in both
//	kinds inner              the server's own types that its messages show
//	kinds quantity           reads quantities, writes how they are kept or why not
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	"k8s.io/apimachinery/pkg/runtime/schema"
	aggregator "k8s.io/kube-aggregator/pkg/apis/apiregistration/install"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/controlplane"
)

var out = bufio.NewWriterSize(os.Stdout, 1<<20)

func main() {
	apiextensions.Install(legacyscheme.Scheme)
	aggregator.Install(legacyscheme.Scheme)
	defer out.Flush()
	switch command := argument(1); command {
	case "types":
		types(kinds())
	case "protobuf":
		protobufs(kinds(), number(2), int(number(3)))
	case "read", "decode":
		decode(kinds(), number(2), int(number(3)), command == "decode")
	case "table":
		tables(kinds(), number(2), int(number(3)))
	case "convert":
		conversions(number(2), int(number(3)))
	case "inner":
		inner()
	case "quantity":
		quantities()
	default:
		fail("unknown command %q", command)
	}
}

func argument(at int) string {
	if at < len(os.Args) {
		return os.Args[at]
	}
	return ""
}

func number(at int) int64 {
	value, err := strconv.ParseInt(argument(at), 10, 64)
	if err != nil {
		fail("argument %d: %v", at, err)
	}
	return value
}

func fail(format string, args ...any) {
	out.Flush()
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(1)
}

func kinds() []schema.GroupVersionKind {
	var list []schema.GroupVersionKind
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		words := strings.Split(input.Text(), " ")
		if len(words) != 3 {
			fail("not a kind: %q", input.Text())
		}
		list = append(list, schema.GroupVersionKind{Group: words[0], Version: words[1], Kind: words[2]})
	}
	return list
}
