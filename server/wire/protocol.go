package wire

// Capability flags of the handshake.
const (
	capLongPassword = 1 << iota
	capFoundRows
	capLongFlag
	capConnectWithDB
	capNoSchema
	capCompress
	capODBC
	capLocalFiles
	capIgnoreSpace
	capProtocol41
	capInteractive
	capTLS
	capIgnoreSigpipe
	capTransactions
	capReserved
	capSecureConnection
	capMultiStatements
	capMultiResults
	capPSMultiResults
	capPluginAuth
	capConnectAttrs
	capLenencAuth
	capExpiredPasswords
	capSessionTrack
	capDeprecateEOF
	capOptionalMetadata
	capZstd
	capQueryAttributes
)

// offered are the capabilities the server always has; TLS is added when it is configured. Local files are left out because a
// server must not ask a client for its files; optional metadata because a result without column definitions would save bytes
// that do not count and cost every client its type information.
const offered = capLongPassword | capFoundRows | capLongFlag | capConnectWithDB | capCompress | capODBC | capIgnoreSpace | capProtocol41 |
	capInteractive | capTransactions | capSecureConnection | capMultiStatements | capMultiResults | capPSMultiResults | capPluginAuth |
	capConnectAttrs | capLenencAuth | capSessionTrack | capDeprecateEOF | capZstd | capQueryAttributes

// Status flags, as Session.State reports them.
const (
	StatusInTrans            = 0x0001
	StatusAutocommit         = 0x0002
	statusMoreResults        = 0x0008
	StatusNoBackslashEscapes = 0x0200
	statusStateChanged       = 0x4000
)

// Command bytes.
const (
	comQuit            = 0x01
	comInitDB          = 0x02
	comQuery           = 0x03
	comFieldList       = 0x04
	comStatistics      = 0x09
	comProcessKill     = 0x0c
	comPing            = 0x0e
	comChangeUser      = 0x11
	comStmtPrepare     = 0x16
	comStmtExecute     = 0x17
	comStmtLongData    = 0x18
	comStmtClose       = 0x19
	comStmtReset       = 0x1a
	comSetOption       = 0x1b
	comStmtFetch       = 0x1c
	comResetConnection = 0x1f
)

// Type codes of columns and parameters.
const (
	TypeDecimal    = 0
	TypeTiny       = 1
	TypeShort      = 2
	TypeLong       = 3
	TypeFloat      = 4
	TypeDouble     = 5
	TypeNull       = 6
	TypeTimestamp  = 7
	TypeLonglong   = 8
	TypeInt24      = 9
	TypeDate       = 10
	TypeTime       = 11
	TypeDatetime   = 12
	TypeYear       = 13
	TypeVarchar    = 15
	TypeBit        = 16
	TypeJSON       = 245
	TypeNewDecimal = 246
	TypeEnum       = 247
	TypeSet        = 248
	TypeTinyBlob   = 249
	TypeMediumBlob = 250
	TypeLongBlob   = 251
	TypeBlob       = 252
	TypeVarString  = 253
	TypeString     = 254
	TypeGeometry   = 255
)

// Column flags.
const (
	FlagNotNull       = 1
	FlagPrimaryKey    = 2
	FlagUniqueKey     = 4
	FlagMultipleKey   = 8
	FlagBlob          = 16
	FlagUnsigned      = 32
	FlagZerofill      = 64
	FlagBinary        = 128
	FlagEnum          = 256
	FlagAutoIncrement = 512
	FlagTimestamp     = 1024
	FlagSet           = 2048
)

// Character sets of column definitions: binary for everything that is not text, utf8mb4 for text.
const (
	CharsetBinary  = 63
	CharsetUTF8MB4 = 255
)

// First bytes of packets.
const (
	headerOK         = 0x00
	headerAuthMore   = 0x01
	headerAuthSwitch = 0xfe
	headerEOF        = 0xfe
	headerErr        = 0xff
	nullValue        = 0xfb
)
