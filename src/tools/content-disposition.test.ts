import { expect, test } from 'vitest'
import { contentDisposition } from './content-disposition.ts'

test.each([
  ['report.pdf', 'attachment; filename="report.pdf"'],
  ['two words.txt', 'attachment; filename="two words.txt"'],
  ['', 'attachment; filename="file"'],
  ['a/b\\c\r\nd', 'attachment; filename="a_b_c__d"'],
  ['größe.txt', `attachment; filename="gr__e.txt"; filename*=UTF-8''gr%C3%B6%C3%9Fe.txt`],
  ['say "hi" 100%', `attachment; filename="say _hi_ 100_"; filename*=UTF-8''say%20%22hi%22%20100%25`],
  ["ö'(1)*!", `attachment; filename="_'(1)*!"; filename*=UTF-8''%C3%B6%27%281%29%2A%21`],
  ['\uD83D', `attachment; filename="_"; filename*=UTF-8''%EF%BF%BD`],
])('the name %j becomes %s', (name, header) => {
  expect(contentDisposition('attachment', name)).toBe(header)
})

test('a file may be shown instead of saved', () => {
  expect(contentDisposition('inline', 'a.png')).toBe('inline; filename="a.png"')
})
