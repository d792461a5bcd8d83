package dialect

import "millrace/internal/sqlerr"

// This file is about words that MySQL lets be names and the engine's parser does not, and about reserved words, which may be names in back-ticks only.

// functionWords are names of functions: a name unless a parenthesis follows.
const functionWords = "bit_and bit_or bit_xor group_concat json_arrayagg json_objectagg now std stddev stddev_pop stddev_samp substr substring var_pop var_samp variance vector"

// refusedWords the engine's parser never takes as a name. None is a keyword where queries or lists of columns have names.
const refusedWords = `copy encrypted encryption_key_id exclusive inplace itef_quotes next off page_checksum page_compressed page_compression_level plan shared
	skip_query_rewrite transactional yes
	application_password_admin audit_abort_exempt audit_admin authentication_policy_admin backup_admin binlog_admin binlog_encryption_admin clone_admin
	connection_admin encryption_key_admin firewall_admin firewall_exempt firewall_user flush_optimizer_costs flush_status flush_tables flush_user_resources
	group_replication_admin group_replication_stream innodb_redo_log_archive innodb_redo_log_enable ndb_stored_user passwordless_user_admin
	persist_ro_variables_admin replication_applier replication_slave_admin resource_group_admin resource_group_user role_admin sensitive_variables_observer
	session_variables_admin set_user_id show_routine system_variables_admin table_encryption_admin tp_connection_admin version_token_admin xa_recover_admin`

// aliasWords it takes as the name of a column, and not of a table in AS alias or WITH name AS.
const aliasWords = `account attribute comment contained execute extract failed_login_attempts file first format full get_format identified none password
	password_lock_time process reload shutdown super timestampadd timestampdiff versions view`

// unreservedName reports whether the current word, which no parenthesis follows, is a name that the engine's parser refuses.
func (r *rewriter) unreservedName(t token) bool {
	switch t.word {
	case wordRefused:
		return r.nameHere()
	case wordAlias, wordView, wordFormat:
		before, next := r.tokenAt(-1), r.tokenAt(1)
		return r.at > 0 && r.inQuery() && r.top().kind != frameCast &&
			(before.word == wordAs || next.word == wordAs && (before.word == wordWith || before.is(',') || r.isWord(r.at-1, "recursive")))
	}
	return false
}

// nameHere reports whether the current word stands where only names, keywords of a query and types do.
func (r *rewriter) nameHere() bool {
	f := r.top()
	switch {
	case r.inQuery():
		return true
	case f.wantTable:
		return !r.tokenAt(-1).is('=') // ALTER TABLE …, LOCK = SHARED
	case f.kind == frameColumns:
		return f.elementStart
	case r.changesSchema():
		before := r.tokenAt(-1)
		if len(r.frames) > 1 { // KEY (a, b), CHECK (a > 0)
			return true
		}
		return r.at > 0 && isOneOf(r.text(before), "add", "column", "drop", "change", "modify", "after", "rename", "to")
	}
	return false
}

// inQuery reports whether the current token belongs to a query or to a statement that changes rows.
func (r *rewriter) inQuery() bool {
	switch r.tokens[0].word {
	case wordSelect, wordWith, wordInsert, wordReplace, wordUpdate, wordDelete:
		return true
	}
	for i := range r.frames {
		if r.frames[i].query {
			return true
		}
	}
	return false
}

// reservedAt is the error for a reserved word at token i where a name is made, nil for any other token. KEY, LAG and PARTITION, columns of records, are names here.
func (r *rewriter) reservedAt(i int) *sqlerr.Error {
	t := r.tokens[i]
	if t.kind != tokenWord || !t.word.reserved() {
		return nil
	}
	switch t.word {
	case wordKey, wordLag, wordPartition:
		return nil
	}
	return r.errorAt(t.start, "'%s' is a reserved word", r.text(t)).WithHint("as a name it goes into back-ticks: `%s`", r.text(t))
}

// Reserved reports whether a word may be a name in back-ticks only.
func Reserved(s string) bool { return lookup(s).reserved() }
