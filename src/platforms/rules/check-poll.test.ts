import { expect, test } from 'vitest'
import type { PostContent } from '../content.ts'
import type { Poll } from '../polls.ts'
import { findPlatform } from '../registry.ts'
import { check } from './engine.ts'
import { effectiveLimits } from './limits.ts'

/** What the engine says of polls. `agreement.test.ts` compares it with the fakes. */

const two = ['Cats', 'Dogs']
const image = { id: 'a', kind: 'image', type: 'image/jpeg', name: 'a.jpg', bytes: 1_000 } as const

function problemsOf(key: string, poll: Poll | object, more: Partial<PostContent> = {}) {
  const platform = findPlatform(key)!
  const content = { text: 'Which?', media: [], options: { poll }, ...more }
  return check(platform, effectiveLimits(platform), content).filter(({ severity }) => severity === 'error')
}

test.each([
  ['x', { options: ['Cats'] }, '/options/poll/options', 'The poll has 1 answer; X requires at least 2.'],
  ['x', { options: ['a', 'b', 'c', 'd', 'e'] }, '/options/poll/options', 'The poll has 5 answers; X allows 4.'],
  [
    'x',
    { options: ['Cats', 'd'.repeat(26)] },
    '/options/poll/options/1',
    'Answer 2 of the poll has 26 characters; X allows 25.',
  ],
  [
    'x',
    { options: two, durationMinutes: 4 },
    '/options/poll/durationMinutes',
    'The poll lasts 4 minutes; X requires at least 5.',
  ],
  [
    'x',
    { options: two, durationMinutes: 10_081 },
    '/options/poll/durationMinutes',
    'The poll lasts 10,081 minutes; X allows 10,080.',
  ],
  [
    'discord',
    { question: 'Which?', options: two, durationMinutes: 90 },
    '/options/poll/durationMinutes',
    'The poll lasts 90 minutes; Discord takes multiples of 60.',
  ],
  [
    'linkedin',
    { question: 'Which?', options: two, durationMinutes: 60 },
    '/options/poll/durationMinutes',
    'The poll lasts 60 minutes; LinkedIn offers 1,440 or 4,320 or 10,080 or 20,160.',
  ],
  [
    'linkedin',
    { question: 'q'.repeat(141), options: two },
    '/options/poll/question',
    'The question of the poll has 141 UTF-16 code units; LinkedIn allows 140.',
  ],
])('%s with %j', (key, poll, pointer, message) => {
  expect(problemsOf(key, poll)).toMatchObject([{ pointer, message }])
})

test('the question of Telegram is the text with its link', () => {
  const link = 'https://example.com/'
  const text = 'q'.repeat(290)
  expect(problemsOf('telegram', { options: two }, { text })).toEqual([])
  expect(problemsOf('telegram', { options: two }, { text, link })).toMatchObject([
    { rule: 'poll.questionMax', pointer: '/text', actual: 311 },
  ])
})

test('files beside a poll are refused where the platform has none', () => {
  expect(problemsOf('x', { options: two }, { media: [image] })).toMatchObject([
    { rule: 'poll.withMedia', pointer: '/media', message: 'X has no files in a post with a poll.' },
  ])
})

test.each([
  ['an unknown field', 'x', { options: two, multiple: true }],
  ['no answers', 'x', { options: [] }],
  ['the same answer twice', 'x', { options: ['Cats', 'Cats'] }],
  ['an answer of white space', 'x', { options: [' ', 'Dogs'] }],
  ['a line break in an answer', 'x', { options: ['Ca\nts', 'Dogs'] }],
  ['no question where it has a field', 'discord', { options: two }],
  ['a poll where there are none', 'threads', { options: two }],
])('%s is an invalid option', (_what, key, poll) => {
  const problems = problemsOf(key, poll)
  expect(problems.length).toBeGreaterThan(0)
  expect(problems.filter(({ rule }) => rule === 'options.invalid').length).toBeGreaterThan(0)
})
