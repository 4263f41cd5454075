// What kube-apiserver's own packages answer about field management and patches: one JSON request per line on
// stdin, one answer per line on stdout.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
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
	// Rounds asks for the time that one takes, of so many.
	Rounds int `json:"rounds"`
	// All asks for every answer that there is, where it depends on the order of a map.
	All bool `json:"all"`
	// A and B are texts: field sets, documents, patches.
	A string `json:"a"`
	B string `json:"b"`
}

// answer is what came of it: texts that may vary from run to run are all there, sorted.
type answer struct {
	Out    any      `json:"out,omitempty"`
	Outs   []any    `json:"outs,omitempty"`
	Micros float64  `json:"micros,omitempty"`
	Errors []string `json:"errors,omitempty"`
}

var ops = map[string]func(*request) (any, error){
	"schemas":   schemas,
	"crd":       define,
	"apply":     apply,
	"update":    update,
	"sets":      sets,
	"items":     items,
	"scale":     scale,
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
	var first request
	if err := json.Unmarshal(line, &first); err == nil && first.Rounds > 0 && ops[first.Op] != nil {
		return measure(&first)
	}
	seen, outs := map[string]bool{}, map[string]any{}
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
		switch {
		case err != nil:
			seen[err.Error()] = true
		case r.All:
			text, _ := json.Marshal(out)
			outs[string(text)] = out
		default:
			return answer{Out: out}
		}
	}
	all := answer{Errors: sorted(seen)}
	for _, out := range outs {
		all.Outs = append(all.Outs, out)
	}
	return all
}

// measure tells how long an operation takes. It may change its input, which is therefore copied, outside of the time.
func measure(r *request) answer {
	var spent time.Duration
	for range r.Rounds {
		once := *r
		once.Live, once.New, once.Config = runtime.DeepCopyJSON(r.Live), runtime.DeepCopyJSON(r.New), runtime.DeepCopyJSON(r.Config)
		begin := time.Now()
		if _, err := guarded(ops[r.Op], &once); err != nil {
			return answer{Errors: []string{err.Error()}}
		}
		spent += time.Since(begin)
	}
	return answer{Micros: float64(spent.Microseconds()) / float64(r.Rounds)}
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
