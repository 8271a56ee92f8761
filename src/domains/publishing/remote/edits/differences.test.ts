import { expect, test } from 'vitest'
import type { NewPart } from '../../publication/claims/parts.ts'
import type { SegmentRow } from '../../posts/tables.ts'
import { differencesOf } from './differences.ts'

const part = (changes: Partial<NewPart> = {}): NewPart => ({
  role: 'post',
  text: 'A text',
  media: [],
  options: {},
  ...changes,
})

const segment = (changes: Partial<NewPart> = {}, row: Partial<SegmentRow> = {}) =>
  ({
    id: `segment ${changes.role ?? 'post'}`,
    status: 'published',
    part: { ...part(changes), key: 'key', createdAt: 1 },
    remote: { id: 'remote', url: null },
    ...row,
  }) as SegmentRow

const picture = { id: 'picture', kind: 'image', type: 'image/png', bytes: 1, name: 'a.png' } as const

test('an equal content differs in nothing, however it says nothing', () => {
  expect(differencesOf([segment()], [part({ tags: [] })], ['text'])).toEqual({
    edits: [],
    unpublished: [],
    impossible: [],
  })
})

test('fields that the platform can edit are edits, and others are named', () => {
  const next = part({ text: 'New', title: 'Title', tags: ['a'] })
  const { edits, impossible } = differencesOf([segment()], [next], ['text', 'title'])
  expect(edits).toEqual([
    { segmentId: 'segment post', part: { ...part(), text: 'New', title: 'Title', key: 'key', createdAt: 1 } },
  ])
  expect(impossible).toEqual(['the tags'])
})

test('files, options, the thread and the first comment cannot be edited', () => {
  const next = [part({ media: [picture], options: { visibility: 'private' } }), part({ role: 'comment' })]
  const segments = [segment(), segment({ role: 'reply' })]
  expect(differencesOf(segments, next, ['text']).impossible).toEqual([
    'the files',
    'the options of the platform',
    'the first comment',
  ])
  expect(differencesOf(segments, [part()], ['text']).impossible).toEqual(['the parts of the thread'])
})

test('a part that is not published yet gets the new content, under its key', () => {
  const open = segment({ role: 'reply' }, { remote: null, status: 'failed' })
  const { edits, unpublished } = differencesOf(
    [segment(), open],
    [part(), part({ role: 'reply', text: 'New' })],
    ['text'],
  )
  expect(edits).toEqual([])
  expect(unpublished).toEqual([
    { segmentId: open.id, part: { ...part({ role: 'reply', text: 'New' }), key: 'key', createdAt: 1 } },
  ])
})

test('a part whose edit was begun is edited in any case', () => {
  expect(differencesOf([segment()], [part()], ['text'], ['segment post']).edits).toHaveLength(1)
})
