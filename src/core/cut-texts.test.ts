import { Type } from 'typebox'
import { expect, test } from 'vitest'
import { cutTexts } from './cut-texts.ts'
import { Id, Input, Nullable } from './schema.ts'
import { validator } from './validate.ts'
import type { JsonSchema } from './validation-sentences.ts'

const Body = Input({
  title: Type.String({ maxLength: 10 }),
  note: Type.Optional(Nullable(Type.String({ maxLength: 10, 'x-verbatim': true }))),
  id: Type.Optional(Id),
  tags: Type.Optional(Type.Array(Type.String({ maxLength: 4, pattern: '^a*$' }), { maxItems: 2 })),
  kind: Type.Optional(Type.Union([Type.Literal('one'), Type.Literal('two')])),
  inner: Type.Optional(Input({ text: Type.String({ maxLength: 3 }) })),
  open: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { 'x-verbatim': true })),
  any: Type.Optional(Type.String()),
  number: Type.Optional(Type.Integer()),
})

const LONG = 'a'.repeat(1_000)
const SPACES = ' '.repeat(1_000)

test.each([
  { title: LONG },
  { title: `a${SPACES}b` },
  { title: SPACES },
  { title: `${SPACES}ok${SPACES}` },
  { title: '👍'.repeat(10) },
  { title: '👍'.repeat(11) },
  { title: 'x', note: SPACES },
  { title: 'x', note: LONG },
  { title: 'x', id: LONG },
  { title: 'x', id: `${SPACES}0190aaaa-bbbb-7ccc-8ddd-eeeeffff0000` },
  { title: 'x', tags: [LONG, 'b'] },
  { title: 'x', tags: LONG },
  { title: 'x', tags: [LONG, LONG, LONG] },
  { title: 'x', kind: LONG },
  { title: 'x', inner: { text: LONG, more: LONG } },
  { title: 'x', inner: LONG },
  { title: 'x', open: { anything: LONG, deep: [{ text: LONG }] } },
  { title: 'x', any: LONG },
  { title: 'x', number: LONG },
  { title: 'x', unknown: LONG, scheduledfor: { a: LONG } },
  { [LONG]: LONG },
  [LONG],
  LONG,
  JSON.parse(`{"title":"x","__proto__":{"text":"${LONG}"}}`) as unknown,
])('what is cut is accepted or refused as it was: %#', (value) => {
  const check = validator(Body, '/body')
  expect(check(cutTexts(structuredClone(value), Body as JsonSchema))).toEqual(check(value))
})

test('texts that are too long, and unknown fields, are cut', () => {
  const value = { title: LONG, id: LONG, unknown: [LONG], inner: { text: LONG }, any: LONG }
  const z = (length: number) => 'z'.repeat(length)
  expect(cutTexts(value, Body as JsonSchema)).toEqual({
    title: z(21),
    id: z(73),
    unknown: null,
    inner: { text: z(7) },
    any: LONG,
  })
})
