package probe

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"sync"
	"time"
)

type benchResult struct {
	Threads  int     `json:"threads"`
	Renders  int     `json:"renders"`
	Seconds  float64 `json:"seconds"`
	PerSec   float64 `json:"perSecond"`
	OutBytes int     `json:"outBytes"`
}

// bench renders a loaded chart again and again, one copy of the chart per goroutine, and prints a line of
// JSON with the rate.
func bench(m Major, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	chart := flags.String("chart", "", "directory or archive of the chart")
	threads := flags.Int("threads", 1, "goroutines, each with its own copy of the chart")
	seconds := flags.Float64("seconds", 3, "how long to measure; at least one render each is done")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *chart == "" || *threads < 1 {
		return errors.New("bench needs --chart and at least one thread")
	}
	m.SetLog(io.Discard)
	renders := make([]func() (int, error), *threads)
	for i := range renders {
		once, err := m.Loaded(*chart)
		if err != nil {
			return err
		}
		if _, err := once(); err != nil {
			return fmt.Errorf("warm-up: %w", err)
		}
		renders[i] = once
	}

	counts := make([]int, *threads)
	sizes := make([]int, *threads)
	failures := make([]error, *threads)
	var group sync.WaitGroup
	start := time.Now()
	end := start.Add(time.Duration(*seconds * float64(time.Second)))
	for i := range renders {
		group.Go(func() {
			for counts[i] == 0 || time.Now().Before(end) {
				size, err := renders[i]()
				if err != nil {
					failures[i] = err
					return
				}
				sizes[i] = size
				counts[i]++
			}
		})
	}
	group.Wait()
	elapsed := time.Since(start).Seconds()
	total := 0
	for _, n := range counts {
		total += n
	}
	if err := errors.Join(failures...); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(benchResult{
		Threads: *threads, Renders: total, Seconds: elapsed,
		PerSec: float64(total) / elapsed, OutBytes: sizes[0],
	})
}
