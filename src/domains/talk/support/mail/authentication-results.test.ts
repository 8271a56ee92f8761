import { simpleParser } from 'mailparser'
import { expect, test } from 'vitest'
import { isFromGenuine } from './authentication-results.ts'

const ID = 'mx.crier.test'
const FROM = 'From: Ada <ada@example.com>'

/** Whether From of a mail with these header fields is genuine. */
async function isGenuine(fields: readonly string[], from: readonly string[] = [FROM], id: string | undefined = ID) {
  const mail = await simpleParser(['Received: from a', ...fields, ...from, 'To: b@crier.test', '', 'Hi'].join('\r\n'))
  return isFromGenuine(mail, id)
}

test.each([
  ['a result of the server', [`Authentication-Results: ${ID}; dmarc=pass header.from=example.com`]],
  ['no domain', [`Authentication-Results: ${ID}; dmarc=pass`]],
  ['a version', [`Authentication-Results: ${ID} 1; dmarc/1=pass header.from=example.com`]],
  ['other case', ['authentication-results: MX.Crier.Test; DMARC=Pass header.From=EXAMPLE.com']],
  [
    'comments',
    [
      `Authentication-Results: (a (b)) ${ID} (c;) ; (d) dmarc (e) = (f) pass (p=NONE; dmarc=fail) header.from=example.com`,
    ],
  ],
  [
    'folded lines',
    [
      `Authentication-Results:\r\n\t${ID};\r\n spf=fail smtp.mailfrom=x.test;\r\n\tdmarc=pass\r\n\theader.from=example.com`,
    ],
  ],
  ['a quoted id', [`Authentication-Results: "${ID}"; dmarc=pass`]],
  ['quoted text', [`Authentication-Results: ${ID}; spf=fail smtp.mailfrom="x; dmarc=fail"; dmarc=pass reason="(a; b"`]],
  ['other results', [`Authentication-Results: ${ID}; dkim=fail header.b=ab/c= header.d=x; spf=none; dmarc=pass`]],
  [
    'a field of another server above',
    ['Authentication-Results: relay.test; dmarc=fail', `Authentication-Results: ${ID}; dmarc=pass`],
  ],
])('From is genuine with %s', async (_what, fields) => {
  expect(await isGenuine(fields)).toBe(true)
})

test.each([
  ['no field', []],
  ['a failure', [`Authentication-Results: ${ID}; dmarc=fail header.from=example.com`]],
  ['no DMARC result', [`Authentication-Results: ${ID}; spf=pass smtp.mailfrom=example.com; dkim=pass`]],
  ['no results', [`Authentication-Results: ${ID}; none`]],
  ['a result for another domain', [`Authentication-Results: ${ID}; dmarc=pass header.from=attacker.test`]],
  [
    'a domain after a base64 value',
    [`Authentication-Results: ${ID}; dmarc=pass header.b=ab= header.from=attacker.test`],
  ],
  ['the field of another server', ['Authentication-Results: mx.attacker.test; dmarc=pass']],
  ['an id that begins alike', [`Authentication-Results: ${ID}.attacker.test; dmarc=pass`]],
  ['the id in a comment', [`Authentication-Results: mx.attacker.test (${ID}); dmarc=pass`]],
  ['a forged field below', [`Authentication-Results: ${ID}; dmarc=fail`, `Authentication-Results: ${ID}; dmarc=pass`]],
  [
    'a forged field below one without DMARC',
    [`Authentication-Results: ${ID}; spf=pass`, `Authentication-Results: ${ID}; dmarc=pass`],
  ],
  ['a pass in a comment', [`Authentication-Results: ${ID}; (dmarc=pass) spf=pass`]],
  ['a pass in quoted text', [`Authentication-Results: ${ID}; spf=fail smtp.mailfrom="x; dmarc=pass"`]],
  ['a quoted method', [`Authentication-Results: ${ID}; "dmarc=pass"; "dmarc"=pass`]],
  ['a pass as a value', [`Authentication-Results: ${ID}; spf=dmarc=pass`]],
  ['two results', [`Authentication-Results: ${ID}; dmarc=pass; dmarc=fail`]],
  ['a comment without end', [`Authentication-Results: ${ID}; dmarc=pass (`]],
  ['text without end', [`Authentication-Results: ${ID}; dmarc=pass reason="`]],
  ['a version that is none', [`Authentication-Results: ${ID} x; dmarc=pass`]],
  ['an empty field', ['Authentication-Results:']],
  ['a field of ARC', [`ARC-Authentication-Results: i=1; ${ID}; dmarc=pass`]],
])('From is not genuine with %s', async (_what, fields) => {
  expect(await isGenuine(fields)).toBe(false)
})

test.each([
  ['two fields', [FROM, 'From: eve@example.com']],
  ['two authors', ['From: ada@example.com, eve@example.com']],
  ['no author', []],
])('From is not genuine with %s in it', async (_what, from) => {
  expect(await isGenuine([`Authentication-Results: ${ID}; dmarc=pass`], from)).toBe(false)
})

test('nothing is genuine without the setting', async () => {
  const mail = await simpleParser([`Authentication-Results: ${ID}; dmarc=pass`, FROM, '', 'Hi'].join('\r\n'))
  expect([isFromGenuine(mail, undefined), isFromGenuine(mail, ID)]).toEqual([false, true])
})
