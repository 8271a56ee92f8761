import { Migration } from '@mikro-orm/migrations'

/**
 * Indexes messages for search by workspace. Each term in the index starts with the id of its workspace, so a search reads
 * only entries of its own workspace. A composite index (extension `btree_gin`) would not do that: it keeps the entries of
 * each column apart, so a search for a common word would read the entries of every workspace.
 */
export class ChatSearchByWorkspace extends Migration {
  override up(): void {
    this.addSql('drop index chat_messages_words')
    this.addSql('alter table chat_messages add column workspace_id uuid')
    this.addSql('update chat_messages m set workspace_id = c.workspace_id from channels c where c.id = m.channel_id')
    this.addSql('alter table chat_messages alter column workspace_id set not null')
    // An id has 22 characters as base64 without padding.
    this.addSql(`
      create function chat_term_prefix(workspace uuid) returns text language sql immutable parallel safe
      return left(encode(uuid_send(workspace), 'base64'), 22)`)
    // A lexeme may have 2,046 bytes with its prefix, so long words are cut. No query has longer words than 200 characters.
    this.addSql(`
      create function chat_long_terms(workspace uuid, body text) returns tsvector language sql immutable parallel safe
      return (
        select array_to_tsvector(coalesce(array_agg(chat_term_prefix(workspace) || left(lexeme, 200)), array[]::text[]))
        from unnest(tsvector_to_array(to_tsvector('simple', body))) as lexeme
      )`)
    // The text form of a vector is one quoted lexeme after each space. No lexeme of the default parser has a space.
    this.addSql(`
      create function chat_terms(workspace uuid, body text) returns tsvector language sql immutable parallel safe
      return case when octet_length(body) < 2000
        then ltrim(replace(' ' || strip(to_tsvector('simple', body))::text, ' ''', ' ''' || chat_term_prefix(workspace)))::tsvector
        else chat_long_terms(workspace, body) end`)
    this.addSql(`
      create function chat_terms_query(workspace uuid, words text[]) returns tsquery language sql immutable parallel safe
      return (
        select string_agg(
          '''' || chat_term_prefix(workspace) || replace(replace(lexeme, '\\', '\\\\'), '''', '''''')
            || case when place = cardinality(words) then ''':*' else '''' end,
          ' & ')::tsquery
        from unnest(words) with ordinality as given (word, place),
          unnest(tsvector_to_array(to_tsvector('simple', word))) as lexeme
      )`)
    // Every search reads the list of pending entries (default 4 MB), whose length depends on all workspaces: a short one.
    this.addSql(
      'create index chat_messages_terms on chat_messages using gin (chat_terms(workspace_id, body)) with (gin_pending_list_limit = 512)',
    )
    this.addSql('create index chat_messages_by_time on chat_messages (workspace_id, created_at desc, id desc)')
  }
}
