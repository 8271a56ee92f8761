import { expect, test } from 'vitest'
import { fieldSentence, sentence } from './sentence.ts'

test.each([
  ['It is away', 'It is away.'],
  ['It is away.', 'It is away.'],
  ['It is away..', 'It is away.'],
  ['It is away. ', 'It is away.'],
  ['Did you mean it?.', 'Did you mean it?'],
  ['Stop!.', 'Stop!'],
  ['And so on….', 'And so on…'],
  ['They said “no.”', 'They said “no.”'],
  ['Send the ETag (see RFC 9110)', 'Send the ETag (see RFC 9110).'],
  ['', ''],
  ['...', '.'],
])('%s becomes a sentence', (text, expected) => {
  expect(sentence(text)).toBe(expected)
})

test.each([
  ['/body/width', 'The field width must be a number.'],
  ['/body/size/0/width', 'The field size.0.width must be a number.'],
  ['/query/limit', 'The parameter limit must be a number.'],
  ['/headers/If-Match', 'The header If-Match must be a number.'],
  ['/body', 'The body must be a number.'],
])('an error at %s names its place', (path, expected) => {
  expect(fieldSentence(path, 'must be a number')).toBe(expected)
})
