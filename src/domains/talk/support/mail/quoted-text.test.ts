import { expect, test, vi } from 'vitest'
import { withoutQuotedText } from './quoted-text.ts'

test.each([
  ['a quote with an introduction', 'Yes.\n\nOn Mon, 23 Nov 2026 at 07:00, Crier wrote:\n> Is it?\n> Really?', 'Yes.'],
  ['an introduction on two lines', 'Yes.\n\nOn Mon, 23 Nov 2026,\nCrier <s@example.com> wrote:\n> Is it?', 'Yes.'],
  ['a German introduction', 'Ja.\n\nAm 23.11.2026 um 07:00 schrieb Crier <s@example.com>:\n> Geht es?', 'Ja.'],
  ['a mail of Outlook', 'Yes.\n\nFrom: Crier <s@example.com>\nSent: Monday\nTo: Ada\n\nIs it?', 'Yes.'],
  ['an original message', 'Yes.\n\n-----Original Message-----\nIs it?', 'Yes.'],
  ['our own line', 'Yes.\n\n> Write your reply above this line.\n> Is it?', 'Yes.'],
  ['our own line in German', 'Ja.\n\n> Schreibe deine Antwort über diese Zeile.\n> Oder?', 'Ja.'],
  ['our line below an unknown introduction', 'Oui.\n\nWrite your reply above this line.\nIs it?', 'Oui.'],
  ['trailing quotes without an introduction', 'Yes.\n> Is it?', 'Yes.'],
])('cuts %s', (_what, mail, written) => {
  expect(withoutQuotedText(mail)).toBe(written)
})

test.each([
  ['answers between quotes', 'On Monday, Crier wrote:\n> Is it on?\nYes.\n> Is it loud?\nNo.'],
  ['a sentence like an introduction', 'On my screen, the help page wrote:\nError in the encoder'],
  ['a quote in the middle', 'You said:\n> Try again\nI did.'],
  ['a mail of nothing but a quote', '> Is it?'],
  ['a list from: and to:', 'from: the left\nit goes: to the right'],
])('keeps %s', (_what, mail) => {
  expect(withoutQuotedText(mail)).toBe(mail.trim())
})

test('any number of introductions is read once, and only the start of a long mail', () => {
  // Each could begin a quote, but the last line is no part of one.
  const text = `Hello\n${'__________\n'.repeat(1_000)}> quoted\nmy answer`
  const looks = vi.spyOn(String.prototype, 'startsWith')
  const written = withoutQuotedText(text)
  const count = looks.mock.calls.length
  looks.mockRestore()
  expect(written).toBe(text)
  expect(count).toBeLessThan(5_000)
  expect(withoutQuotedText(`Hello\n${'word '.repeat(1_000_000)}`).length).toBeLessThanOrEqual(100_000)
})
