// Package registry asks a schema registry with Confluent's REST interface (Confluent's own, Apicurio, Redpanda, Karapace, AWS Glue's proxy) for
// schemas.
//
// A scan meets an id in a record and wants its schema now, from several lanes at once, and may not take a registry that is down for bad data. So the
// Client asks once for an id however many want it, keeps schemas for good (ids are immutable), keeps the fact that there is no such id for a few seconds
// only, tries again with back-off and at the next URL when an answer is missing or a fault of the server, and says apart, as kinds of sqlerr, what
// a user can do about it:
//
//	UnknownID              no such id: a property of the record, not of the registry
//	RegistryUnreachable    after all tries
//	RegistryTimeout        it takes connections and stays silent; for a few seconds nobody waits for it again
//	RegistryAuth, RegistryTLS, RegistryHostRefused, RegistryProtocol, RegistryNotFound
//
// References are fetched along with a schema, all the way down.
//
// No secret gets into a message: credentials in a URL are taken out when the Client is made.
package registry
