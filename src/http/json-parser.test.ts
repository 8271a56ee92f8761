import { afterAll, expect, test } from 'vitest'
import { DEFAULT_JSON_MARKS, MAX_JSON_MARKS } from '../tools/json-size.ts'
import { JsonParser, LARGE_BODY } from './json-parser.ts'

const parser = new JsonParser()
afterAll(() => parser.close())

const LONG = 'Ünïcödé 😀 "\\ '.repeat(LARGE_BODY / 8)
const parse = (text: string | Buffer, most = DEFAULT_JSON_MARKS) => parser.parse(Buffer.from(text as string), most)

test('the value is that of JSON.parse, several at once', async () => {
  const values: unknown[] = [
    { text: LONG, list: [1, null, true, { deep: [LONG] }] },
    LONG,
    [LONG],
    Array.from({ length: DEFAULT_JSON_MARKS + 10 }, (_, at) => at),
    { '': LONG, constructor: LONG },
  ]
  expect(await Promise.all(values.map((value) => parse(JSON.stringify(value), MAX_JSON_MARKS)))).toEqual(values)
})

test.each([
  ['not UTF-8', Buffer.from([0x22, 0xff, 0x22]), 'bad_request', 'not valid UTF-8'],
  ['not JSON', `{"text": "${LONG}`, 'bad_request', 'not valid JSON'],
  ['of too many fields', `[${'[],'.repeat(DEFAULT_JSON_MARKS)}1]`, 'payload_too_large', 'more than 20000 fields'],
])('a body that is %s is refused as on the main thread', async (_, text, code, message) => {
  await expect(parse(text)).rejects.toMatchObject({ code, message: expect.stringContaining(message) })
})

test('a field that is called __proto__ changes no object', async () => {
  const value = (await parse(`{"__proto__":{"isAdmin":true},"text":"${'x'.repeat(LARGE_BODY)}"}`)) as object
  expect((value as { isAdmin?: boolean }).isAdmin).toBeUndefined()
})
