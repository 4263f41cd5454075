// What kube-apiserver's own packages answer about field management and patches: one JSON request per line on
// stdin, one answer per line on stdout.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/util/json"
)

// request is a question; which fields count depends on Op.
type request struct {
	Op string `json:"op"`
	// Types names what `crd` defined; empty are the built-in types.
	Types string `json:"types"`
	// CRD is a definition for `crd`.
	CRD map[string]any `json:"crd"`
	// Live, New and Config are objects.
	Live   map[string]any `json:"live"`
	New    map[string]any `json:"new"`
	Config map[string]any `json:"config"`
	// Manager, Force, Subresource and Reset are the circumstances of a write.
	Manager     string     `json:"manager"`
	Force       bool       `json:"force"`
	Subresource string     `json:"subresource"`
	Reset       [][]string `json:"reset"`
	// Only are patterns of fields that alone are tracked; `*` is any element.
	Only [][]string `json:"only"`
	// APIVersion and Kind are those of the address.
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// A and B are texts: field sets, documents, patches.
	A string `json:"a"`
	B string `json:"b"`
}

// answer is what came of it: texts that may vary from run to run are all there, sorted.
type answer struct {
	Out    any      `json:"out,omitempty"`
	Errors []string `json:"errors,omitempty"`
}

var ops = map[string]func(*request) (any, error){
	"schemas":   schemas,
	"crd":       define,
	"apply":     apply,
	"update":    update,
	"sets":      sets,
	"strategic": strategic,
	"json":      jsonPatch,
	"merge":     mergePatch,
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			reply, err := json.Marshal(serve(line))
			if err != nil {
				reply = []byte(fmt.Sprintf(`{"errors":[%q]}`, "probe: "+err.Error()))
			}
			out.Write(reply)
			out.WriteByte('\n')
			if in.Buffered() == 0 {
				out.Flush()
			}
		}
		if err != nil {
			out.Flush()
			return
		}
	}
}

// Asked this often, an answer that depends on the order of a map has shown its faces.
const asked = 24

func serve(line []byte) answer {
	seen := map[string]bool{}
	for range asked {
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			return answer{Errors: []string{"probe: " + err.Error()}}
		}
		op, known := ops[r.Op]
		if !known {
			return answer{Errors: []string{"probe: unknown op " + r.Op}}
		}
		out, err := guarded(op, &r)
		if err == nil {
			return answer{Out: out}
		}
		seen[err.Error()] = true
	}
	return answer{Errors: sorted(seen)}
}

// guarded turns a crash of the original into an error.
func guarded(op func(*request) (any, error), r *request) (out any, err error) {
	defer func() {
		if crash := recover(); crash != nil {
			err = fmt.Errorf("panic: %v", crash)
		}
	}()
	return op(r)
}
