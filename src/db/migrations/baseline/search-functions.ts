/**
 * Functions of the index for searching messages. Each term in it starts with the id of its workspace, so a search reads only
 * entries of its own workspace. A composite index (extension `btree_gin`) would not do that: it keeps the entries of each
 * column apart, so a search for a common word would read the entries of every workspace.
 */
export const searchFunctions = [
  // An id has 22 characters as base64 without padding.
  `
    create function chat_term_prefix(workspace uuid) returns text language sql immutable parallel safe
  return left(encode(uuid_send(workspace), 'base64'), 22)`,
  // A lexeme may have 2,046 bytes with its prefix, so long words are cut. No query has longer words than 200 characters.
  `
    create function chat_long_terms(workspace uuid, body text) returns tsvector language sql immutable parallel safe
  return (
    select array_to_tsvector(coalesce(array_agg(chat_term_prefix(workspace) || left(lexeme, 200)), array[]::text[]))
    from unnest(tsvector_to_array(to_tsvector('simple', body))) as lexeme
  )`,
  // The text form of a vector is one quoted lexeme after each space. No lexeme of the default parser has a space.
  `
    create function chat_terms(workspace uuid, body text) returns tsvector language sql immutable parallel safe
  return case when octet_length(body) < 2000
    then ltrim(replace(' ' || strip(to_tsvector('simple', body))::text, ' ''', ' ''' || chat_term_prefix(workspace)))::tsvector
    else chat_long_terms(workspace, body) end`,
  `
    create function chat_terms_query(workspace uuid, words text[]) returns tsquery language sql immutable parallel safe
  return (
    select string_agg(
      '''' || chat_term_prefix(workspace) || replace(replace(lexeme, '\\', '\\\\'), '''', '''''')
        || case when place = cardinality(words) then ''':*' else '''' end,
      ' & ')::tsquery
    from unnest(words) with ordinality as given (word, place),
      unnest(tsvector_to_array(to_tsvector('simple', word))) as lexeme
  )`,
  // Each term starts with its workspace, so that a filter reads no entries of others.
  `
    create function workspace_terms(workspace uuid, tags text[]) returns text[] language sql immutable parallel safe
  return (select array_agg(chat_term_prefix(workspace) || tag) from unnest(tags) as tag)`,
]
