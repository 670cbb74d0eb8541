package program

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"
)

// The test binary is also the program under test: which one, says this
// variable.
const programVariable = "UNBRAID_TEST_PROGRAM"

// addressVariable is where a program connects to, so that the test sees the
// connection end when the program dies.
const addressVariable = "UNBRAID_TEST_ADDRESS"

func TestMain(m *testing.M) {
	name := os.Getenv(programVariable)
	if name == "" {
		os.Exit(m.Run())
	}
	program, ok := programs[name]
	if !ok {
		panic("no program " + name)
	}
	program(bufio.NewReader(os.Stdin), os.Stdout)
}

var programs = map[string]func(in *bufio.Reader, out io.Writer){
	// sum answers each point at once with the sum of its coordinates.
	"sum": func(in *bufio.Reader, out io.Writer) {
		for line, ok := readLine(in); ok; line, ok = readLine(in) {
			fmt.Fprintln(out, formatFloat(sumOf(line)))
		}
	},
	// blocks reads as many points as there are in a batch before it answers.
	"blocks": func(in *bufio.Reader, out io.Writer) {
		for {
			var answers strings.Builder
			for range manyPoints {
				line, ok := readLine(in)
				if !ok {
					return
				}
				fmt.Fprintln(&answers, formatFloat(sumOf(line)))
			}
			io.WriteString(out, answers.String())
		}
	},
	"dimension": func(in *bufio.Reader, out io.Writer) {
		for _, ok := readLine(in); ok; _, ok = readLine(in) {
			fmt.Fprintln(out, os.Getenv("UNBRAID_DIM"))
		}
	},
	"spellings": func(in *bufio.Reader, out io.Writer) {
		for _, s := range spellings {
			readLine(in)
			fmt.Fprintln(out, s.text)
		}
	},
	// fails after two answers, with a long complaint.
	"fails": func(in *bufio.Reader, out io.Writer) {
		io.WriteString(out, "1\n2\n")
		for i := range 30 {
			fmt.Fprintln(os.Stderr, "complaint", i)
		}
		os.Exit(3)
	},
	// brief takes two points and no more.
	"brief": func(in *bufio.Reader, out io.Writer) {
		readLine(in)
		readLine(in)
		io.WriteString(out, "1\n2\n")
	},
	// lazy reads everything, but answers only twice and ends in peace.
	"lazy": func(in *bufio.Reader, out io.Writer) {
		for range 5 {
			readLine(in)
		}
		io.WriteString(out, "1\n2") // no line break at the end
	},
	"nonsense": func(in *bufio.Reader, out io.Writer) {
		io.WriteString(out, "1\n2\nhello\n")
		io.Copy(io.Discard, in)
	},
	"binary": func(in *bufio.Reader, out io.Writer) {
		for {
			if _, err := out.Write(make([]byte, 1000)); err != nil {
				return
			}
		}
	},
	// twice answers twice in one go.
	"twice": func(in *bufio.Reader, out io.Writer) {
		for _, ok := readLine(in); ok; _, ok = readLine(in) {
			io.WriteString(out, "1\n1\n")
		}
	},
	// deaf answers without being asked.
	"deaf": func(in *bufio.Reader, out io.Writer) {
		for {
			if _, err := io.WriteString(out, strings.Repeat("1\n", 1000)); err != nil {
				return
			}
		}
	},
	// guess answers a batch without reading it and ends.
	"guess": func(in *bufio.Reader, out io.Writer) {
		io.WriteString(out, strings.Repeat("1\n", manyPoints))
	},
	"noisy": func(in *bufio.Reader, out io.Writer) {
		for _, ok := readLine(in); ok; _, ok = readLine(in) {
			fmt.Fprintln(os.Stderr, strings.Repeat("noise ", 50000))
			fmt.Fprintln(out, 1)
		}
	},
	// stubborn answers, but does not end with its input.
	"stubborn": func(in *bufio.Reader, out io.Writer) {
		conn := connect()
		for _, ok := readLine(in); ok; _, ok = readLine(in) {
			fmt.Fprintln(out, 1)
		}
		waitForever(conn)
	},
	// family never answers; it starts a child and waits.
	"family": func(in *bufio.Reader, out io.Writer) {
		startChild(os.Stdout)
		waitForever(connect())
	},
	// orphan ends when the test hangs up and leaves a child that holds its
	// output open.
	"orphan": func(in *bufio.Reader, out io.Writer) {
		startChild(os.Stdout)
		waitForever(connect())
	},
	"child": func(in *bufio.Reader, out io.Writer) { waitForever(connect()) },
	// host runs an objective of its own, until it is killed.
	"host": func(in *bufio.Reader, out io.Writer) {
		os.Setenv(programVariable, "child")
		o, err := newObjective(params{Command: []string{os.Args[0]}}, 1)
		if err != nil {
			panic(err)
		}
		o.Evaluate(context.Background(), make([]float64, 1), mat.NewDense(1, 1, nil))
	},
}

// startChild starts the program "child" with the given standard output.
func startChild(out *os.File) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), programVariable+"=child")
	cmd.Stdout = out
	if err := cmd.Start(); err != nil {
		panic(err)
	}
}

// connect connects to the test and tells it which program this is.
func connect() net.Conn {
	conn, err := net.Dial("tcp", os.Getenv(addressVariable))
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(conn, os.Getenv(programVariable))
	return conn
}

// waitForever returns when the test hangs up, at the latest when it ends.
func waitForever(conn net.Conn) { io.Copy(io.Discard, conn) }

func readLine(in *bufio.Reader) (line string, ok bool) {
	line, err := in.ReadString('\n')
	return strings.TrimSuffix(line, "\n"), err == nil
}

func sumOf(line string) float64 {
	var x []float64
	if strings.HasPrefix(line, "[") {
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			panic(err)
		}
	} else {
		for s := range strings.SplitSeq(line, ",") {
			v, err := strconv.ParseFloat(s, 64)
			if err != nil {
				panic(err)
			}
			x = append(x, v)
		}
	}
	return sum(x)
}

func sum(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += v
	}
	return sum
}

func formatFloat(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// impatient is for programs that never end by themselves.
const impatient = 10 * time.Millisecond
