// Package probe is the half of the probe commands that does not depend on a Helm major: the messages on
// stdin and stdout, the loop that answers them, and the benchmark loop.
package probe

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Text is a byte string. On the wire it is a JSON string when it is valid UTF-8, else {"b64": "…"}.
type Text []byte

// UnmarshalJSON reads either form.
func (t *Text) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return err
		}
		*t = Text(s)
		return nil
	}
	var wrapped struct {
		B64 string `json:"b64"`
	}
	if err := json.Unmarshal(raw, &wrapped); err != nil {
		return fmt.Errorf("text is neither a string nor {\"b64\": …}: %w", err)
	}
	data, err := base64.StdEncoding.DecodeString(wrapped.B64)
	*t = data
	return err
}

// MarshalJSON writes the readable form whenever the bytes allow it.
func (t Text) MarshalJSON() ([]byte, error) {
	if utf8.Valid(t) {
		return json.Marshal(string(t))
	}
	return json.Marshal(map[string]string{"b64": base64.StdEncoding.EncodeToString(t)})
}

// File is a named file of a chart, or one beside it.
type File struct {
	Name string `json:"name"`
	Data Text   `json:"data"`
}

// Request asks for one thing. Op is "base" (remember Files under Base), "render" or "info".
type Request struct {
	ID    uint64 `json:"id"`
	Op    string `json:"op"`
	Base  string `json:"base,omitempty"`
	Files []File `json:"files,omitempty"`

	// Side files lie in the working directory: values files and what --set-file reads.
	Side       []File   `json:"side,omitempty"`
	Values     []string `json:"values,omitempty"`
	Set        []Text   `json:"set,omitempty"`
	SetString  []Text   `json:"setString,omitempty"`
	SetJSON    []Text   `json:"setJson,omitempty"`
	SetFile    []Text   `json:"setFile,omitempty"`
	SetLiteral []Text   `json:"setLiteral,omitempty"`

	Release     string   `json:"release,omitempty"`
	Namespace   string   `json:"namespace,omitempty"`
	Upgrade     bool     `json:"upgrade,omitempty"`
	KubeVersion string   `json:"kubeVersion,omitempty"`
	APIVersions []string `json:"apiVersions,omitempty"`
	IncludeCRDs bool     `json:"includeCrds,omitempty"`
	NoHooks     bool     `json:"noHooks,omitempty"`
	SkipTests   bool     `json:"skipTests,omitempty"`
	SkipSchema  bool     `json:"skipSchema,omitempty"`

	// Stdout asks for what `helm template` prints; without it the answer is the engine's file map.
	Stdout bool `json:"stdout,omitempty"`
}

// Answer is what came out. Exactly one of Files, Stdout and Error is set on a render.
type Answer struct {
	ID      uint64  `json:"id"`
	Files   *[]File `json:"files,omitempty"`
	Stdout  *Text   `json:"stdout,omitempty"`
	Error   *Text   `json:"error,omitempty"`
	Panic   bool    `json:"panic,omitempty"`
	Log     Text    `json:"log,omitempty"`
	Version string  `json:"version,omitempty"`
}

// Strings turns texts into Go strings, bytes unchanged.
func Strings(texts []Text) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = string(t)
	}
	return out
}
