import { expect, test } from 'vitest'
import { Input, Nullable, Sequence, Text, Type } from './schema.ts'
import { isTooDeep, validator } from './validate.ts'

const Thing = Input({
  title: Text(1, 20),
  parts: Type.Optional(Type.Array(Input({ name: Text(1, 20) }))),
  options: Type.Optional(Nullable(Input({ loud: Type.Boolean() }))),
  any: Type.Optional(Type.Unknown()),
})

const paths = (value: unknown, check = validator(Thing, '/body')) => {
  const checked = check(value)
  return checked.ok ? [] : checked.errors.map(({ code, path }) => `${path} ${code}`)
}

test('any number of unknown fields does not hide other unknown or missing fields', () => {
  const many = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`field${index}`, index]))
  expect(paths(many)).toEqual([
    '/body/title required',
    ...Object.keys(many).map((name) => `/body/${name} unknown_field`),
  ])
  const more = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`field${index}`, index]))
  const errors = paths({ ...more, parts: [{}, { name: 1 }] })
  expect(errors).toHaveLength(20)
  expect(errors.slice(0, 3).sort()).toEqual([
    '/body/parts/0/name required',
    '/body/parts/1/name type',
    '/body/title required',
  ])
})

test('more than eight invalid values are all reported', () => {
  const parts = Array.from({ length: 12 }, () => ({ name: 1 }))
  expect(paths({ title: 'x', parts })).toHaveLength(12)
})

test('read-only fields of the resource are dropped at every depth; other unknown fields are refused', () => {
  const Shown = Type.Object({
    _id: Type.String(),
    title: Type.String(),
    parts: Type.Array(Type.Object({ _id: Type.String(), name: Type.String() })),
    options: Nullable(Type.Object({ loud: Type.Boolean(), since: Type.String() })),
  })
  const check = validator(Thing, '/body', Shown)
  const got = { _id: '1', title: 'x', parts: [{ _id: '2', name: 'y' }], options: { loud: true, since: 'now' } }
  expect(check(got)).toEqual({ ok: true, value: { title: 'x', parts: [{ name: 'y' }], options: { loud: true } } })
  expect(check({ ...got, options: null })).toMatchObject({ ok: true })
  expect(paths({ ...got, since: 'now', parts: [{ name: 'y', since: 'now' }] }, check)).toEqual([
    '/body/parts/0/since unknown_field',
    '/body/since unknown_field',
  ])
})

test('integers must be safe in JavaScript', () => {
  const check = validator(Input({ seq: Sequence(), any: Type.Optional(Type.Integer()) }), '/query')
  expect(check({ seq: Number.MAX_SAFE_INTEGER })).toMatchObject({ ok: true })
  expect(paths({ seq: 2 ** 53 }, check)).toEqual(['/query/seq unsafe_integer'])
  expect(paths({ seq: 1, any: -1e300 }, check)).toEqual(['/query/any unsafe_integer'])
})

test('nesting is bounded where the schema accepts any value', () => {
  const nested = (levels: number): unknown => {
    let value: unknown = 1
    for (let level = 0; level < levels; level += 1) value = [value]
    return value
  }
  expect(paths({ title: 'x', any: nested(40_000) }).map((error) => error.split(' ')[1])).toEqual(['too_deep'])
  expect(paths({ title: 'x', any: nested(60) })).toEqual([])
  expect([isTooDeep(nested(40_000)), isTooDeep(nested(60))]).toEqual([true, false])
})

test('a field named __proto__ is refused and never sets the prototype', () => {
  expect(paths(JSON.parse('{"title":"x","__proto__":{"parts":1}}'))).toEqual(['/body/__proto__ unknown_field'])
})
