package readkafka

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// The JSON grammars of assign, …Offsets and …OffsetsByTimestamp. The standard decoder would let a key that stands twice win silently, so the tokens are
// walked here; a number keeps its text until its range is checked.

// parseAssign reads {"topic":[0,1]}.
func parseAssign(text string) (map[string][]int32, error) {
	assigned := map[string][]int32{}
	err := walkObject(text, func(dec *json.Decoder, topic string) error {
		if err := CheckTopic(topic); err != nil {
			return err
		}
		if err := expect(dec, '[', fmt.Sprintf("topic '%s' needs an array of partition numbers", topic)); err != nil {
			return err
		}
		seen := map[int32]bool{}
		for dec.More() {
			token, err := dec.Token()
			if err != nil {
				return err
			}
			text, err := numberText(token)
			if err != nil {
				return fmt.Errorf("topic '%s': %w", topic, err)
			}
			n, err := partitionNumber(text)
			if err != nil {
				return fmt.Errorf("topic '%s': %w", topic, err)
			}
			if seen[n] {
				return fmt.Errorf("partition %d of topic '%s' stands twice", n, topic)
			}
			seen[n] = true
			assigned[topic] = append(assigned[topic], n)
		}
		if len(seen) == 0 {
			return fmt.Errorf("topic '%s' has no partitions", topic)
		}
		_, err := dec.Token()
		return err
	})
	if err != nil {
		return nil, err
	}
	return assigned, nil
}

// parseOffsets reads {"topic":{"0":23,"1":-1}}.
func parseOffsets(text string) (map[string]map[int32]int64, error) {
	return parseByPartition(text, func(n int64) error {
		if n < -2 {
			return fmt.Errorf("%d is no offset: allowed are 0 and above, -1 (latest) and -2 (earliest)", n)
		}
		return nil
	})
}

// parseTimestamps reads {"topic":{"0":1700000000000}}.
func parseTimestamps(text string) (map[string]map[int32]int64, error) {
	return parseByPartition(text, func(n int64) error {
		if n < 0 {
			return fmt.Errorf("%d is no time: expected are milliseconds since 1970", n)
		}
		return nil
	})
}

func parseByPartition(text string, check func(int64) error) (map[string]map[int32]int64, error) {
	byTopic := map[string]map[int32]int64{}
	err := walkObject(text, func(dec *json.Decoder, topic string) error {
		if err := CheckTopic(topic); err != nil {
			return err
		}
		if err := expect(dec, '{', fmt.Sprintf("topic '%s' needs an object of partitions", topic)); err != nil {
			return err
		}
		values := map[int32]int64{}
		err := members(dec, func(key string) error {
			number, err := partitionNumber(key)
			if err != nil {
				return fmt.Errorf("topic '%s': %w", topic, err)
			}
			token, err := dec.Token()
			if err != nil {
				return err
			}
			text, err := numberText(token)
			if err != nil {
				return fmt.Errorf("partition %d of topic '%s': %w", number, topic, err)
			}
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return fmt.Errorf("partition %d of topic '%s': %s is no whole number of 64 bits", number, topic, quoteShort(text))
			}
			if err := check(n); err != nil {
				return fmt.Errorf("partition %d of topic '%s': %w", number, topic, err)
			}
			if _, twice := values[number]; twice {
				return fmt.Errorf("partition %d of topic '%s' stands twice", number, topic)
			}
			values[number] = n
			return nil
		})
		if err != nil {
			return err
		}
		if len(values) == 0 {
			return fmt.Errorf("topic '%s' has no partitions", topic)
		}
		byTopic[topic] = values
		return nil
	})
	if err != nil {
		return nil, err
	}
	return byTopic, nil
}

// walkObject calls each for every member of the object that text is, which must be all of text and not empty; each consumes the member's value.
func walkObject(text string, each func(dec *json.Decoder, key string) error) error {
	if err := checkJSON(text); err != nil {
		return err
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if err := expect(dec, '{', "it is not a JSON object"); err != nil {
		return err
	}
	n := 0
	seen := map[string]bool{}
	err := members(dec, func(key string) error {
		n++
		if seen[key] {
			return fmt.Errorf("topic '%s' stands twice", key)
		}
		seen[key] = true
		return each(dec, key)
	})
	if err != nil {
		return err
	}
	if n == 0 {
		return errors.New("it names no topic")
	}
	return nil
}

// checkJSON wants text to be one JSON value and nothing else. The token decoder alone is too lenient, and its errors speak of Go.
func checkJSON(text string) error {
	dec := json.NewDecoder(strings.NewReader(text))
	var whole json.RawMessage
	err := dec.Decode(&whole)
	var bad *json.SyntaxError
	switch {
	case errors.As(err, &bad):
		return fmt.Errorf("the JSON is broken at character %d", bad.Offset)
	case err != nil:
		return errors.New("the JSON ends too early")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON object")
	}
	return nil
}

// members calls each with every key up to the end of the object, which it consumes.
func members(dec *json.Decoder, each func(key string) error) error {
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		key, ok := token.(string)
		if !ok {
			return errors.New("a key is not text")
		}
		if err := each(key); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return err
}

func expect(dec *json.Decoder, delim json.Delim, otherwise string) error {
	token, err := dec.Token()
	if err != nil || token != delim {
		return errors.New(otherwise)
	}
	return nil
}

// numberText takes a whole number as a number or as text, as Spark does.
func numberText(token json.Token) (string, error) {
	switch x := token.(type) {
	case json.Number:
		return x.String(), nil
	case string:
		return strings.TrimSpace(x), nil
	}
	return "", errors.New("a whole number is expected")
}

func partitionNumber(text string) (int32, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s is no partition number", quoteShort(text))
	}
	return int32(n), nil
}
