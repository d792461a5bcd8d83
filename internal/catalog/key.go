package catalog

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Key encrypts what the catalog keeps of secrets: AES-256 in Galois/Counter mode, a fresh nonce for each seal.
type Key struct {
	aead cipher.AEAD
	id   string
}

// KeySize is the size of a key in bytes.
const KeySize = 32

// ParseKey reads a key of 32 bytes, written in base64 or in hexadecimal digits. Errors hold nothing of it.
func ParseKey(text string) (*Key, error) {
	text = strings.TrimSpace(text)
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != KeySize {
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
			if raw, err = encoding.DecodeString(text); err == nil && len(raw) == KeySize {
				break
			}
		}
	}
	if err != nil || len(raw) != KeySize {
		return nil, fmt.Errorf("a key of %d bytes is expected, in base64 or in hexadecimal digits (head -c %d /dev/urandom | base64 makes one)", KeySize, KeySize)
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return nil, err
	}
	k := &Key{}
	if k.aead, err = cipher.NewGCM(block); err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, raw)
	mac.Write([]byte("millrace key id"))
	k.id = hex.EncodeToString(mac.Sum(nil)[:8])
	return k, nil
}

// ID tells keys apart without saying anything about them.
func (k *Key) ID() string { return k.id }

// String keeps the key out of messages.
func (k *Key) String() string { return "key " + k.id }

// Format does so for every verb.
func (k *Key) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, k.String()) }

// Seal encrypts plain; Open wants the same beside.
func (k *Key) Seal(plain, beside []byte) []byte {
	nonce := make([]byte, k.aead.NonceSize())
	_, _ = rand.Read(nonce) // never fails: it ends the process instead
	return k.aead.Seal(nonce, nonce, plain, beside)
}

// Open decrypts what Seal made with the same beside.
func (k *Key) Open(sealed, beside []byte) ([]byte, error) {
	n := k.aead.NonceSize()
	if len(sealed) < n {
		return nil, errors.New("the seal is damaged")
	}
	plain, err := k.aead.Open(nil, sealed[:n], sealed[n:], beside)
	if err != nil {
		return nil, errors.New("the seal is damaged, or belongs to another name or other hosts")
	}
	return plain, nil
}
