import { expect, test } from 'vitest'
import { tagged } from './author-settings.ts'

const utm = { enabled: true, source: 'crier', medium: 'social', campaign: 'spring sale', term: '', content: '' }
const added = 'utm_source=crier&utm_medium=social&utm_campaign=spring+sale'

test.each([
  ['https://example.com', `https://example.com?${added}`],
  ['https://example.com/a?b=c%20d', `https://example.com/a?b=c%20d&${added}`],
  ['https://example.com/a?', `https://example.com/a?${added}`],
  ['https://example.com/a#part', `https://example.com/a?${added}#part`],
  ['https://Bücher.example/ä', `https://Bücher.example/ä?${added}`],
])('%s is tagged, and is otherwise as it was written', (link, expected) => {
  expect(tagged(link, utm)).toBe(expected)
})

test.each(['https://example.com/?utm_source=mail', 'example.com', 'mailto:ada@example.com', 'https://'])(
  '%s stays as it is',
  (link) => {
    expect(tagged(link, utm)).toBe(link)
  },
)

test('without any parameter, links stay as they are', () => {
  const none = { ...utm, source: '', medium: '', campaign: '' }
  expect(tagged('https://example.com', none)).toBe('https://example.com')
})
