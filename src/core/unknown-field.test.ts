import { expect, test } from 'vitest'
import { walk, type NamedOperation } from './operation.ts'
import { FIELD_ALIASES } from './field-aliases.ts'
import { unknownField } from './unknown-field.ts'
import { api } from '../registry/api.ts'

const fieldsOf = (op: NamedOperation, part: 'body' | 'query') =>
  Object.keys((op[part] as { properties?: object } | undefined)?.properties ?? {})
const operations = walk(api)
const fields = (name: string, part: 'body' | 'query') =>
  fieldsOf(operations.find((op) => op.name === name) as NamedOperation, part)

test.each([
  ['createPost', 'body', 'text', 'content'],
  ['createPost', 'body', 'scheduledAt', 'scheduledFor'],
  ['createPost', 'body', 'scheduled_at', 'scheduledFor'],
  ['createPost', 'body', 'scheduleFor', 'scheduledFor'],
  ['createPost', 'body', 'scheduled_for', 'scheduledFor'],
  ['createPost', 'body', 'accounts', 'targets, a list of objects with `accountId`'],
  ['createPost', 'body', 'mediaUrls', 'media, ids of files in the media library'],
  ['createPost', 'body', 'workspace_id', 'workspaceId'],
  ['sendMessage', 'body', 'text', 'body'],
  ['listPosts', 'query', 'page', 'cursor, `pagination.nextCursor` of the previous page'],
  ['listPosts', 'query', 'per_page', 'limit'],
  ['listPosts', 'query', 'state', 'status'],
  ['listPosts', 'query', 'accounts', 'accountId'],
  ['listPosts', 'query', 'lable', 'label'],
] as const)('%s suggests for the %s field %s: %s', (name, part, given, expected) => {
  expect(unknownField(given, fields(name, part))).toBe(`is not a known field; did you mean ${expected}?`)
})

test('a name of another product is only suggested if the operation has the field', () => {
  // Lists of the public blog have numbered pages.
  expect(fields('listBlogPosts', 'query')).toContain('page')
  expect(unknownField('scheduledAt', fields('createChannel', 'body'))).not.toContain('did you mean')
  expect(unknownField('page', ['subject', 'labels'])).not.toContain('did you mean')
})

test('the nearest field is suggested, and not the first that is near', () => {
  expect(unknownField('tagz', ['tabs', 'tags'])).toBe('is not a known field; did you mean tags?')
})

test('a long name costs nothing, and is not suggested for', () => {
  expect(unknownField('x'.repeat(1_000_000), ['title'])).toBe('is not a known field; the known fields are title')
  expect(unknownField(`title${'_'.repeat(100)}`, ['title'])).not.toContain('did you mean')
})

test('each alias is unique, and an operation has its fields', () => {
  const names = FIELD_ALIASES.map(({ name }) => name)
  expect(names).toEqual([...new Set(names)])
  expect(names.filter((name) => /[^a-z]/.test(name))).toEqual([])
  const all = new Set(
    operations.flatMap((op) => [...fieldsOf(op, 'body'), ...fieldsOf(op, 'query'), ...(op.upload ? ['file'] : [])]),
  )
  expect(FIELD_ALIASES.flatMap((alias) => alias.fields.filter((field) => !all.has(field)))).toEqual([])
})
