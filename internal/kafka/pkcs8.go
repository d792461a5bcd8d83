package kafka

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/des" //nolint:gosec // keys that are encrypted so exist
	"crypto/pbkdf2"
	"crypto/sha1" //nolint:gosec // as above
	"crypto/sha256"
	"crypto/sha512"
	"encoding/asn1"
	"errors"
	"hash"
)

// decryptPKCS8 opens an ENCRYPTED PRIVATE KEY: PKCS #8 under PBES2 (RFC 8018), which is what openssl and Java write. The standard library reads such
// keys only in the clear.
//
// A wrong password shows by the padding, or by a result that is no key; the caller parses the result.
func decryptPKCS8(der []byte, password string) ([]byte, error) {
	var info struct {
		Algorithm algorithm
		Data      []byte
	}
	if rest, err := asn1.Unmarshal(der, &info); err != nil || len(rest) > 0 {
		return nil, errors.New("it is damaged")
	}
	if !info.Algorithm.ID.Equal(oidPBES2) {
		return nil, errors.New("it is encrypted in an old way (expected is PBES2, as openssl pkcs8 -topk8 -v2 aes256 writes)")
	}
	var scheme struct{ Derivation, Encryption algorithm }
	if err := info.Algorithm.parameters(&scheme); err != nil {
		return nil, err
	}
	if !scheme.Derivation.ID.Equal(oidPBKDF2) {
		return nil, errors.New("its password is not derived by PBKDF2, the only way that is supported")
	}
	var derivation struct {
		Salt       []byte
		Iterations int
		KeyLength  int       `asn1:"optional"`
		Function   algorithm `asn1:"optional"`
	}
	if err := scheme.Derivation.parameters(&derivation); err != nil {
		return nil, err
	}
	if derivation.Iterations < 1 || derivation.Iterations > maxIterations {
		return nil, errors.New("its password is hashed more often than this server is willing to")
	}
	function := sha1.New
	if derivation.Function.ID != nil {
		if function = hashes[derivation.Function.ID.String()]; function == nil {
			return nil, errors.New("its password is hashed in a way that is not supported")
		}
	}
	encryption, ok := ciphers[scheme.Encryption.ID.String()]
	if !ok {
		return nil, errors.New("its cipher is not supported (expected is AES in CBC mode)")
	}
	var iv []byte
	if err := scheme.Encryption.parameters(&iv); err != nil {
		return nil, err
	}
	key, err := pbkdf2.Key(function, password, derivation.Salt, derivation.Iterations, encryption.keyLength)
	if err != nil {
		return nil, err
	}
	block, err := encryption.block(key)
	if err != nil {
		return nil, err
	}
	if len(iv) != block.BlockSize() || len(info.Data) == 0 || len(info.Data)%block.BlockSize() != 0 {
		return nil, errors.New("it is damaged")
	}
	plain := make([]byte, len(info.Data))
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(plain, info.Data)
	n := int(plain[len(plain)-1])
	if n == 0 || n > block.BlockSize() {
		return nil, errWrongPassword
	}
	for _, b := range plain[len(plain)-n:] {
		if int(b) != n {
			return nil, errWrongPassword
		}
	}
	return plain[:len(plain)-n], nil
}

var errWrongPassword = errors.New("the password does not open it")

// maxIterations bounds the work that a file may ask for: about five seconds of one core.
const maxIterations = 5_000_000

// algorithm is an AlgorithmIdentifier.
type algorithm struct {
	ID         asn1.ObjectIdentifier
	Parameters asn1.RawValue `asn1:"optional"`
}

func (a algorithm) parameters(into any) error {
	if rest, err := asn1.Unmarshal(a.Parameters.FullBytes, into); err != nil || len(rest) > 0 {
		return errors.New("it is damaged")
	}
	return nil
}

var (
	oidPBES2  = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 13}
	oidPBKDF2 = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 12}

	hashes = map[string]func() hash.Hash{
		"1.2.840.113549.2.7": sha1.New, "1.2.840.113549.2.8": sha256.New224, "1.2.840.113549.2.9": sha256.New,
		"1.2.840.113549.2.10": sha512.New384, "1.2.840.113549.2.11": sha512.New,
	}

	ciphers = map[string]struct {
		keyLength int
		block     func([]byte) (cipher.Block, error)
	}{
		"2.16.840.1.101.3.4.1.2": {16, aes.NewCipher}, "2.16.840.1.101.3.4.1.22": {24, aes.NewCipher}, "2.16.840.1.101.3.4.1.42": {32, aes.NewCipher},
		"1.2.840.113549.3.7": {24, des.NewTripleDESCipher},
	}
)

// modestIterations looks for what asks for more work than maxIterations in DER that somebody else will decode: a whole number behind a string of
// bytes, which is how every scheme writes salt and count. What is encrypted cannot be looked into.
func modestIterations(der []byte) bool {
	salt := false
	for len(der) > 0 {
		var v asn1.RawValue
		rest, err := asn1.Unmarshal(der, &v)
		if err != nil {
			return true // not DER, or damaged, which the decoder says better
		}
		der = rest
		universal := v.Class == asn1.ClassUniversal
		switch {
		case universal && v.Tag == asn1.TagInteger && salt:
			var n int64
			if _, err := asn1.Unmarshal(v.FullBytes, &n); err != nil || n > maxIterations {
				return false
			}
		case v.IsCompound, universal && v.Tag == asn1.TagOctetString:
			if !modestIterations(v.Bytes) {
				return false
			}
		}
		salt = universal && v.Tag == asn1.TagOctetString
	}
	return true
}
