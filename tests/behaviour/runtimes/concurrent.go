// SPDX-License-Identifier: Apache-2.0

// Go: goroutines on several threads, channels, the collector, maps, a panic, a file and a child.
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
)

type node struct {
	left, right *node
	value       int
}

func tree(depth int) *node {
	if depth == 0 {
		return &node{value: 1}
	}
	return &node{tree(depth - 1), tree(depth - 1), depth}
}

func (n *node) sum() int {
	if n == nil {
		return 0
	}
	return n.value + n.left.sum() + n.right.sum()
}

func recovered() (result int) {
	defer func() {
		if recover() != nil {
			result = 5
		}
	}()
	var nothing *node
	return nothing.value
}

func counted() int {
	counts := map[string]int{}
	for i := 0; i < 2000; i++ {
		counts[fmt.Sprintf("key%d", i%97)] += i
	}
	keys := make([]string, 0, len(counts))
	for key := range counts {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return counts[keys[0]] + counts[keys[len(keys)-1]]
}

func work() int {
	results := make(chan int)
	var group sync.WaitGroup
	for worker := 0; worker < 4; worker++ {
		group.Add(1)
		go func(depth int) {
			defer group.Done()
			results <- tree(depth).sum()
		}(8 + worker)
	}
	go func() { group.Wait(); close(results) }()
	total := 0
	for result := range results {
		total += result
	}
	runtime.GC()
	output, err := exec.Command("/bin/echo", "child").Output()
	if err != nil || !bytes.Equal(output, []byte("child\n")) {
		panic(fmt.Sprint("the child printed ", string(output), err))
	}
	return total + counted() + recovered() + len(strings.Fields(string(output)))
}

func main() {
	result := work()
	if len(os.Args) > 1 {
		var told atomic.Bool
		go func() {
			os.Stdin.Read(make([]byte, 1))
			told.Store(true)
		}()
		for {
			fmt.Println("round")
			if work() != result {
				panic("another result")
			}
			if told.Load() {
				break
			}
		}
	}
	fmt.Println(result)
	os.Exit(7)
}
