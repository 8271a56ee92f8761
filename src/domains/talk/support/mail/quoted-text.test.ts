import { expect, test, vi } from 'vitest'
import { isForwarded, withoutQuotedText } from './quoted-text.ts'

test.each([
  ['a quote with an introduction', 'Yes.\n\nOn Mon, 23 Nov 2026 at 07:00, Crier wrote:\n> Is it?\n> Really?', 'Yes.'],
  ['an introduction on two lines', 'Yes.\n\nOn Mon, 23 Nov 2026,\nCrier <s@example.com> wrote:\n> Is it?', 'Yes.'],
  ['a German introduction', 'Ja.\n\nAm 23.11.2026 um 07:00 schrieb Crier <s@example.com>:\n> Geht es?', 'Ja.'],
  ['a mail of Outlook', 'Yes.\n\nFrom: Crier <s@example.com>\nSent: Monday\nTo: Ada\n\nIs it?', 'Yes.'],
  ['an original message', 'Yes.\n\n-----Original Message-----\nIs it?', 'Yes.'],
  ['our own line', 'Yes.\n\n> Write your reply above this line.\n> Is it?', 'Yes.'],
  ['our own line in German', 'Ja.\n\n> Schreibe deine Antwort über diese Zeile.\n> Oder?', 'Ja.'],
  ['our line below an unknown introduction', 'Oui.\n\nWrite your reply above this line.\nIs it?', 'Oui.'],
  ['Portuguese', 'Sim.\n\nEm seg., 23 de nov. de 2026 às 07:00, Crier <s@example.com> escreveu:\n> É?', 'Sim.'],
  ['Japanese', 'はい。\n\n2026年11月23日(月) 7:00 Crier <s@example.com>:\n> ありますか', 'はい。'],
  ['Russian of Gmail', 'Да.\n\nпн, 23 нояб. 2026 г. в 07:00, Crier <s@example.com>:\n> Есть?', 'Да.'],
  ['Russian of Apple', 'Да.\n\n23 нояб. 2026 г., в 07:00, Crier <s@example.com> написал(а):\n> Есть?', 'Да.'],
  ['Chinese', '好。\n\nCrier <s@example.com> 于2026年11月23日周一 07:00写道：\n> 有吗？', '好。'],
  ['Polish', 'Tak.\n\npon., 23 lis 2026 o 07:00 Crier <s@example.com> napisał(a):\n> Jest?', 'Tak.'],
  ['Outlook in Portuguese', 'Sim.\n\nDe: Crier <s@example.com>\nEnviado: segunda-feira\nPara: Ada\n\nÉ?', 'Sim.'],
  [
    'Outlook in Japanese',
    'はい。\n\n差出人: Crier <s@example.com>\n送信日時: 月曜日\n宛先: Ada\n\nありますか',
    'はい。',
  ],
  ['Outlook in Russian', 'Да.\n\nОт: Crier <s@example.com>\nОтправлено: понедельник\nКому: Ada\n\nЕсть?', 'Да.'],
  ['Outlook in Chinese', '好。\n\n发件人：Crier <s@example.com>\n发送时间：星期一\n收件人：Ada\n\n有吗？', '好。'],
  ['Outlook in Polish', 'Tak.\n\nOd: Crier <s@example.com>\nWysłano: poniedziałek\nDo: Ada\n\nJest?', 'Tak.'],
  [
    'a quote above the answer',
    'On Mon, 23 Nov 2026 at 07:00, Crier wrote:\n> Is it?\n>\n> Really?\n\nYes.\n\nIt is.',
    'Yes.\n\nIt is.',
  ],
  ['a quote of our line above the answer', '> Write your reply above this line.\n> Is it?\n\nYes.', 'Yes.'],
  ['trailing quotes without an introduction', 'Yes.\n> Is it?', 'Yes.'],
])('cuts %s', (_what, mail, written) => {
  expect(withoutQuotedText(mail)).toBe(written)
})

test.each([
  ['answers between quotes', 'On Monday, Crier wrote:\n> Is it on?\nYes.\n> Is it loud?\nNo.'],
  ['a sentence like an introduction', 'On my screen, the help page wrote:\nError in the encoder'],
  ['a quote in the middle', 'You said:\n> Try again\nI did.'],
  ['a quote without an introduction above', '> Is it?\nYes.'],
  ['Polish that only looks like an introduction', 'Zapisałem 2 pliki.\nKolega napisał: działa.'],
  ['a mail of nothing but a quote', '> Is it?'],
  ['a list from: and to:', 'from: the left\nit goes: to the right'],
])('keeps %s', (_what, mail) => {
  expect(withoutQuotedText(mail)).toBe(mail.trim())
})

test.each([
  ['Gmail', 'x', 'See below\n\n---------- Forwarded message ---------\nFrom: Bob'],
  ['Apple Mail', 'x', 'Begin forwarded message:\n\nFrom: Bob'],
  ['Outlook in English', 'FW: Order', 'See below'],
  ['Outlook in German', 'WG: Bestellung', 'Siehe unten'],
  ['Gmail in Japanese', 'Fwd: 注文', '下記'],
])('a mail that %s forwards is recognized', (_what, subject, text) => {
  expect(isForwarded({ subject, text })).toBe(true)
})

test('a reply is not a forwarded mail', () => {
  expect(isForwarded({ subject: 'Re: Forwarding rules', text: 'I forwarded the message.' })).toBe(false)
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
