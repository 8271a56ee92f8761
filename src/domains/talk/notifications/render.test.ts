import { expect, test } from 'vitest'
import { textsFor } from '../../../language/texts.ts'
import { render } from './render.ts'

const shown = (actors: readonly string[], people = actors.length) => ({
  type: 'comment.added',
  data: { postId: 'p', post: 'Launch day', comment: 'See https://evil.example now', hasPost: 'yes' },
  actors,
  people,
  count: people,
})
const titleOf = (language: string, actors: readonly string[], people?: number) =>
  render(textsFor(language), shown(actors, people)).title

test('names one or two people, and counts the others', () => {
  expect(titleOf('en', ['Ada'])).toBe('Ada commented on “Launch day”')
  expect(titleOf('en', ['Ada', 'Bob'])).toBe('Ada and Bob commented on “Launch day”')
  expect(titleOf('en', ['Ada', 'Bob', 'Cyd'], 4)).toBe('Ada and 3 others commented on “Launch day”')
  expect(titleOf('de', ['Ada', 'Bob', 'Cyd'], 4)).toBe('Ada und 3 weitere haben „Launch day“ kommentiert')
})

test('a text of a user has no links, and a name no quotation marks', () => {
  const { text, title } = render(textsFor('en'), shown(['Ada “the boss”']))
  expect(title).not.toContain('“the')
  expect(text.join()).not.toContain('https://')
})
