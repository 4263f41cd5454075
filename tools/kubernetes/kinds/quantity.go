package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
)

func discard() *bufio.Writer { return bufio.NewWriter(io.Discard) }

// quantities answers each line: how the quantity is written again, or the error.
func quantities() {
	input := bufio.NewScanner(os.Stdin)
	texts := []string{}
	for input.Scan() {
		texts = append(texts, input.Text())
	}
	for _, quoted := range texts {
		text, err := strconv.Unquote(quoted)
		if err != nil {
			fail("not a quoted text: %s", quoted)
		}
		value, err := resource.ParseQuantity(text)
		if err != nil {
			fmt.Fprintf(out, "!%s\n", err)
			continue
		}
		fmt.Fprintf(out, "%s\n", value.String())
	}
}
