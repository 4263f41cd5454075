package probe

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sort"
	"sync/atomic"
	"time"
)

// Outcome is what a major's adapter gives back: a file map or a standard output.
type Outcome struct {
	Files  map[string]string
	Stdout *string
}

// Major is one Helm major.
type Major interface {
	Version() string
	// Load reads a chart from files in path order.
	Load(files []File) (any, error)
	// WithTemplates gives a deep copy of a loaded chart without subcharts, with more templates.
	WithTemplates(chart any, templates []File) any
	// Render merges the values, then asks for the chart and renders it. Side files are in the working
	// directory. The chart is not used again.
	Render(load func() (any, error), r *Request) (Outcome, error)
	// Loaded gives a function that renders the chart at a path once.
	Loaded(path string) (func() (int, error), error)
	// SetLog directs warnings to w.
	SetLog(w io.Writer)
}

const (
	// A request that takes longer ends the process: the loop cannot be stopped.
	patience = 20 * time.Second
	// More memory than this is a runaway template as well. Go itself would only collect ever harder.
	memoryLimit = 3 << 30
	// How often the two are looked at.
	glance = 50 * time.Millisecond
)

// Main runs the command line of a probe: requests on stdin, or `bench`.
func Main(m Major) {
	var err error
	if len(os.Args) > 1 && os.Args[1] == "bench" {
		err = bench(m, os.Args[2:], os.Stdout)
	} else {
		err = serve(m, os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "probe:", err)
		os.Exit(1)
	}
}

func serve(m Major, in io.Reader, out io.Writer) error {
	dir, err := os.MkdirTemp("", "podium-probe-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chdir(dir); err != nil {
		return err
	}
	debug.SetGCPercent(400)
	var started atomic.Int64
	go watch(&started)

	log := &limited{}
	m.SetLog(log)
	bases := map[string]*base{}
	reader := bufio.NewReaderSize(in, 1<<20)
	writer := bufio.NewWriterSize(out, 1<<20)
	encoder := json.NewEncoder(writer)
	encoder.SetEscapeHTML(false)
	for {
		line, err := reader.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return writer.Flush()
		}
		if err != nil && err != io.EOF {
			return err
		}
		var r Request
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("bad request: %w", err)
		}
		log.reset()
		started.Store(time.Now().UnixNano())
		answer := handle(m, bases, &r)
		started.Store(0)
		answer.ID = r.ID
		answer.Log = log.bytes()
		if err := encoder.Encode(answer); err != nil {
			return err
		}
		// At once: what is still here when a later request ends the process would be lost with it.
		if err := writer.Flush(); err != nil {
			return err
		}
	}
}

// watch ends the process when a request takes too long or too much; who asked sees it die.
func watch(started *atomic.Int64) {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	for range time.Tick(glance) {
		since := started.Load()
		if since == 0 {
			continue
		}
		metrics.Read(sample)
		if time.Since(time.Unix(0, since)) > patience || sample[0].Value.Uint64() > memoryLimit {
			os.Exit(3)
		}
	}
}

func handle(m Major, bases map[string]*base, r *Request) (a Answer) {
	defer func() {
		if p := recover(); p != nil {
			text := Text(fmt.Sprintf("panic: %v", p))
			a = Answer{Error: &text, Panic: true}
		}
	}()
	switch r.Op {
	case "base":
		bases[r.Base] = newBase(m, r.Files)
		return Answer{}
	case "info":
		return Answer{Version: m.Version()}
	case "render":
		on := bases[r.Base]
		if on == nil {
			on = &base{}
		}
		return render(m, func() (any, error) { return on.chartWith(m, r.Files) }, r)
	}
	text := Text("probe: unknown op " + r.Op)
	return Answer{Error: &text, Panic: true}
}

func render(m Major, load func() (any, error), r *Request) (a Answer) {
	for _, f := range r.Side {
		if err := os.WriteFile(f.Name, f.Data, 0o600); err != nil {
			text := Text("probe: " + err.Error())
			return Answer{Error: &text, Panic: true}
		}
	}
	defer func() {
		for _, f := range r.Side {
			_ = os.Remove(f.Name)
		}
	}()
	out, err := m.Render(load, r)
	switch {
	case err != nil:
		text := Text("Error: " + err.Error())
		a.Error = &text
	case out.Stdout != nil:
		text := Text(*out.Stdout)
		a.Stdout = &text
	default:
		list := make([]File, 0, len(out.Files))
		for name, data := range out.Files {
			list = append(list, File{Name: name, Data: Text(data)})
		}
		sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
		a.Files = &list
	}
	return a
}

// overlay copies the base with the request's files on top, in path order as a directory walk gives them.
// The bytes are copied too: a chart must never see what an earlier render did to its files.
func overlay(base, extra []File) []File {
	byName := make(map[string]Text, len(base)+len(extra))
	for _, f := range base {
		byName[f.Name] = f.Data
	}
	for _, f := range extra {
		byName[f.Name] = f.Data
	}
	names := make([]string, 0, len(byName))
	for name := range byName {
		names = append(names, name)
	}
	sort.Strings(names)
	out := make([]File, len(names))
	for i, name := range names {
		out[i] = File{Name: name, Data: append(Text{}, byName[name]...)}
	}
	return out
}

// limited keeps the first part of what is logged: a warning per value could otherwise fill memory.
type limited struct{ data []byte }

func (l *limited) Write(p []byte) (int, error) {
	if room := 64<<10 - len(l.data); room > 0 {
		l.data = append(l.data, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

func (l *limited) reset() { l.data = l.data[:0] }

func (l *limited) bytes() Text { return append(Text{}, l.data...) }
