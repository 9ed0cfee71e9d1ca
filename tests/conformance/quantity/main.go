// Command quantityvectors says what Kubernetes makes of texts that may be resource quantities.
//
// It reads a JSON array from standard input: strings, or objects with a "text" as in vectors.json. It writes
// one JSON object a text, in the same order, to standard output:
//
//	text       the text
//	error      why resource.ParseQuantity refuses it; the fields below are then absent, but for manifest
//	format     DecimalSI, BinarySI or DecimalExponent
//	string     Quantity.String(): the text itself where upstream's shortcut takes it for canonical
//	canonical  Quantity.CanonicalizeBytes(): the canonical form without that shortcut
//	value      Quantity.Value(), an int64
//	milli      Quantity.MilliValue(), an int64
//	sign       Quantity.Sign()
//	nanos      the exact amount in billionths, from Quantity.AsDec(); absent where it would be gigantic
//	manifest   the canonical form if only JSON decoding takes the text (it trims white space)
//
// Numbers that need not fit a float64 are strings.
//
// vectors.json is this program's answer, made once and kept under version control. To ask another version of
// apimachinery, or after adding {"text": "..."} lines to vectors.json:
//
//	go get k8s.io/apimachinery@v0.37.2 && go mod tidy
//	go run . <vectors.json >new.json && mv new.json vectors.json
//	git diff vectors.json
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"os"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
)

// answer is what upstream makes of one text.
type answer struct {
	Text      string `json:"text"`
	Error     string `json:"error,omitempty"`
	Format    string `json:"format,omitempty"`
	String    string `json:"string,omitempty"`
	Canonical string `json:"canonical,omitempty"`
	Value     string `json:"value,omitempty"`
	Milli     string `json:"milli,omitempty"`
	Sign      *int   `json:"sign,omitempty"`
	Nanos     string `json:"nanos,omitempty"`
	Manifest  string `json:"manifest,omitempty"`
}

// question is a text, written as a string or as an object with that text.
type question string

func (q *question) UnmarshalJSON(raw []byte) error {
	var object struct {
		Text *string `json:"text"`
	}
	if bytes.HasPrefix(raw, []byte("{")) {
		if err := json.Unmarshal(raw, &object); err != nil {
			return err
		}
		if object.Text == nil {
			return fmt.Errorf("no text in %s", raw)
		}
		*q = question(*object.Text)
		return nil
	}
	return json.Unmarshal(raw, (*string)(q))
}

// largestExponent bounds the powers of ten that are written out in full.
const largestExponent = 600

// nanosOf is the exact amount of q in billionths, or "" if it has too many digits to write down.
// It works on a copy: AsDec changes how a quantity computes its other answers.
func nanosOf(q resource.Quantity) string {
	if q.IsZero() {
		return "0"
	}
	dec := q.DeepCopy()
	amount := dec.AsDec()
	exponent := 9 - int64(amount.Scale())
	if exponent < 0 || exponent > largestExponent {
		return ""
	}
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(exponent), nil)
	return power.Mul(power, amount.UnscaledBig()).String()
}

// canonicalOf is the canonical form of q, computed even where q remembers a text.
func canonicalOf(q resource.Quantity) string {
	number, suffix := q.CanonicalizeBytes(nil)
	return string(number) + string(suffix)
}

// manifestOf is the canonical form that text has as a value in a JSON document, or "" if it is refused.
func manifestOf(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		return ""
	}
	var q resource.Quantity
	if err := json.Unmarshal(raw, &q); err != nil {
		return ""
	}
	return canonicalOf(q)
}

func answerTo(text string) answer {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return answer{Text: text, Error: err.Error(), Manifest: manifestOf(text)}
	}
	sign := q.Sign()
	return answer{
		Text:      text,
		Format:    string(q.Format),
		String:    q.String(),
		Canonical: canonicalOf(q),
		Value:     strconv.FormatInt(q.Value(), 10),
		Milli:     strconv.FormatInt(q.MilliValue(), 10),
		Sign:      &sign,
		Nanos:     nanosOf(q),
	}
}

func run(in io.Reader, out io.Writer) error {
	var questions []question
	if err := json.NewDecoder(in).Decode(&questions); err != nil {
		return fmt.Errorf("a JSON array of texts is wanted: %w", err)
	}
	var written bytes.Buffer
	written.WriteString("[\n")
	for i, text := range questions {
		var line bytes.Buffer
		encoder := json.NewEncoder(&line)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(answerTo(string(text))); err != nil {
			return err
		}
		written.Write(bytes.TrimRight(line.Bytes(), "\n"))
		if i < len(questions)-1 {
			written.WriteByte(',')
		}
		written.WriteByte('\n')
	}
	written.WriteString("]\n")
	_, err := written.WriteTo(out)
	return err
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "quantityvectors:", err)
		os.Exit(1)
	}
}
