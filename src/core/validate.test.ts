import { describe, expect, test } from 'vitest'
import { Id, Input, Nullable, OneOf, Sequence, Text, Type, type TSchema } from './schema.ts'
import { queryReader } from './query-reader.ts'
import { SeveralTexts } from './several.ts'
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

describe('the work for a value is bounded by its schema', () => {
  /** A list or object each of whose items counts how often it is read. */
  const counted = <T extends object>(target: T, size: number, item: unknown) => {
    const reads = { count: 0 }
    for (let index = 0; index < size; index += 1) {
      Object.defineProperty(target, Array.isArray(target) ? index : `f${index}`, {
        enumerable: true,
        get: () => {
          reads.count += 1
          return item
        },
      })
    }
    return { reads, value: target }
  }

  test('a list or map that is too long is reported, and none of its items is read', () => {
    const check = validator(
      Input({
        ids: Type.Optional(Type.Array(Id, { minItems: 1, maxItems: 3, uniqueItems: true })),
        either: Type.Optional(Type.Union([Type.Array(Text(1, 5), { maxItems: 3 }), Input({ all: Type.Boolean() })])),
        map: Type.Optional(Type.Record(Type.String(), Type.String(), { maxProperties: 3 })),
        inner: Type.Optional(Nullable(Input({ ids: Type.Array(Id, { maxItems: 3 }) }))),
      }),
      '/body',
    )
    const ids = counted([], 4, 'not an id')
    const either = counted([], 4, 5)
    const map = counted({}, 4, 5)
    const inner = counted([], 4, 5)
    const input = { ids: ids.value, either: either.value, map: map.value, inner: { ids: inner.value } }
    expect(paths(input, check)).toEqual([
      '/body/ids maxItems',
      '/body/either maxItems',
      '/body/map maxProperties',
      '/body/inner/ids maxItems',
    ])
    expect([ids, either, map, inner].map(({ reads }) => reads.count)).toEqual([0, 0, 0, 0])
  })

  test('an object or a list in place of something else is reported, and not read', () => {
    const read: string[] = []
    const unread = (name: string) =>
      new Proxy({ [name]: 1 }, { ownKeys: (target) => (read.push(name), Reflect.ownKeys(target)) })
    const schema = Type.Object({ names: Type.Array(Type.String(), { uniqueItems: true }), count: Type.Integer() })
    const checked = validator(schema, '/body')({ names: [unread('a'), unread('b'), []], count: unread('c') })
    expect(checked).toEqual({
      ok: false,
      errors: [
        { path: '/body/names/0', code: 'type', message: 'must be a string, not an object' },
        { path: '/body/names/1', code: 'type', message: 'must be a string, not an object' },
        { path: '/body/names/2', code: 'type', message: 'must be a string, not an array' },
        { path: '/body/count', code: 'type', message: 'must be an integer, not an object' },
      ],
    })
    expect(read).toEqual([])
  })

  test('a list of as many items as are allowed is valid', () => {
    const check = validator(Input({ ids: Type.Array(Text(1, 5), { maxItems: 3 }) }), '/body')
    expect(check({ ids: ['a', 'b', 'c'] }).ok).toBe(true)
    expect(paths({ ids: ['a', 'b', 'c', 'd'] }, check)).toEqual(['/body/ids maxItems'])
  })

  test('a union of lists has the limits of the member that fits', () => {
    const lists = [Type.Array(Type.Integer(), { maxItems: 1 }), Type.Array(Text(1, 5), { maxItems: 3 })]
    const check = validator(Input({ list: Type.Union(lists) }), '/body')
    expect(check({ list: ['a', 'b', 'c'] }).ok).toBe(true)
  })

  test('a text that is too long has no other error, and its length is counted in characters', () => {
    const check = validator(Input({ code: Type.String({ maxLength: 3, pattern: '^[a-z👍]*$' }) }), '/body')
    expect(paths({ code: 'ABCD' }, check)).toEqual(['/body/code maxLength'])
    expect(paths({ code: '👍👍👍👍' }, check)).toEqual(['/body/code maxLength'])
    expect(paths({ code: 'ABC' }, check)).toEqual(['/body/code pattern'])
    expect(check({ code: ' 👍👍👍 ' }).ok).toBe(true)
  })

  test('the search ends at 20 errors', () => {
    const list = counted([], 1_000, 'a\0')
    const fields = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`f\0${index}`, 'x']))
    const check = validator(
      Input({ list: Type.Optional(Type.Array(Type.String())), map: Type.Optional(Type.Unknown()) }),
      '/body',
    )
    const checked = check({ list: list.value, map: fields, missing: 1 })
    expect(checked.ok ? [] : checked.errors).toHaveLength(20)
    expect(list.reads.count).toBe(20)
    expect(paths({ map: fields }, check)).toHaveLength(20)
  })

  test('fields beyond 20 unknown ones are not looked at, unless they are known', () => {
    const inner = counted({}, 1_000, 'x')
    const check = validator(Input({ parts: Type.Array(Input({ name: Text(1, 5) }), { maxItems: 2 }) }), '/body')
    const named = { ...Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`g${index}`, 1])), name: 'a\0' }
    const errors = paths({ parts: [inner.value, named] }, check)
    expect(inner.reads.count).toBe(0)
    expect(errors.slice(0, 2)).toEqual(['/body/parts/1/name nul', '/body/parts/0/name required'])
    expect(errors).toHaveLength(20)
  })
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

test('nesting may be 64 levels deep, as text or as a value', () => {
  const nested = (levels: number): unknown => (levels === 0 ? 1 : { x: nested(levels - 1) })
  const check = validator(Type.Unknown(), '/body')
  expect(check(nested(65)).ok).toBe(true)
  expect(check(nested(66))).toMatchObject({ errors: [{ code: 'too_deep' }] })
  expect([isTooDeep(nested(65)), isTooDeep(nested(66))]).toEqual([false, true])
  expect([isTooDeep(null), isTooDeep('x'), isTooDeep(new Uint8Array(3)), isTooDeep({}, -1)]).toEqual([
    false,
    false,
    false,
    true,
  ])
})

describe('text', () => {
  const check = validator(
    Input({
      text: Text(1, 5),
      code: Type.Optional(Type.String({ 'x-verbatim': true })),
      map: Type.Optional(Type.Record(Type.String(), Type.String())),
    }),
    '/body',
  )

  test('is trimmed, except where every blank counts', () => {
    expect(check({ text: '  abcde ', code: ' x ' })).toEqual({ ok: true, value: { text: 'abcde', code: ' x ' } })
    expect(paths({ text: '   ' }, check)).toEqual(['/body/text minLength'])
  })

  test('in free-form JSON is trimmed too, unless every blank counts in it', () => {
    const free = validator(
      Input({ any: Type.Unknown(), raw: Type.Unknown({ 'x-verbatim': true }), list: Type.Array(Type.String()) }),
      '/body',
    )
    const deep = { texts: [' x ', { text: ' y ' }] }
    expect(free({ any: deep, raw: deep, list: [' z '] })).toEqual({
      ok: true,
      value: { any: { texts: ['x', { text: 'y' }] }, raw: deep, list: ['z'] },
    })
    expect(paths({ any: { texts: ['a\0b'] }, raw: ['\ud83d'], list: [] }, free)).toEqual([
      '/body/any/texts/0 nul',
      '/body/raw/0 ill_formed',
    ])
  })

  test('and names of fields contain neither NUL nor half a character', () => {
    expect(paths({ text: 'a\0b' }, check)).toEqual(['/body/text nul'])
    expect(paths({ text: '\ud83d' }, check)).toEqual(['/body/text ill_formed'])
    expect(paths({ text: 'a', map: { 'a\0': 'x' } }, check)).toEqual(['/body/map nul'])
    expect(paths({ text: 'a', map: { 'a\ud83d': 'x' } }, check)).toEqual(['/body/map ill_formed'])
  })

  test('in a map is found by its name, whatever that is', () => {
    expect(paths({ text: 'a', map: { 'a/b~c': 1 } }, check)).toEqual(['/body/map/a~1b~0c type'])
    const parsed = check(JSON.parse('{"text":"a","map":{"__proto__":"x"}}'))
    const { map } = (parsed as { value: { map: object } }).value
    expect([Object.keys(map), Object.getPrototypeOf(map)]).toEqual([['__proto__'], Object.prototype])
  })
})

describe('an error', () => {
  const messageOf = (schema: TSchema, value: unknown) => {
    const checked = validator(Type.Object({ x: schema }), '')({ x: value })
    return checked.ok ? undefined : checked.errors.map(({ message }) => message).join(' | ')
  }

  test.each([
    [Type.String(), 1, 'must be a string, not a number'],
    [Type.String(), null, 'must be a string, not null'],
    [Type.Integer(), [], 'must be an integer, not an array'],
    [Type.Array(Type.String()), {}, 'must be an array, not an object'],
    [Type.Boolean(), 'true', 'must be a boolean, not a string'],
    [OneOf(['a', 'b']), 'c', 'must be one of a, b'],
    [Type.Literal('on'), 'off', 'must be "on"'],
    [Type.String({ minLength: 1 }), '', 'must not be empty'],
    [Type.String({ minLength: 2 }), 'x', 'must have at least 2 characters'],
    [Type.String({ maxLength: 1 }), 'xx', 'must have at most 1 character'],
    [Type.String({ maxLength: 2 }), 'xxx', 'must have at most 2 characters'],
    [Type.Array(Type.String(), { minItems: 1 }), [], 'must have at least 1 item'],
    [Type.Array(Type.String(), { maxItems: 2 }), ['a', 'b', 'c'], 'must have at most 2 items'],
    [Type.Array(Type.String(), { uniqueItems: true }), ['a', 'a'], 'must not contain the same item twice'],
    [Type.Object({}, { minProperties: 1 }), {}, 'must have at least 1 field'],
    [Type.Number({ minimum: 2 }), 1, 'must be at least 2'],
    [Type.Number({ maximum: 2 }), 3, 'must be at most 2'],
    [Type.String({ format: 'uuid' }), 'x', 'must be a UUID'],
    [
      Type.String({ ...Id, description: 'The board' }),
      '01939E5C-7A10-7C3E-8F21-3C5A9B2D4EA4',
      'must be a UUID in lowercase',
    ],
    [Type.String({ format: 'ipv4' }), 'x', 'must be a valid ipv4'],
    [Type.String({ pattern: '^a$' }), 'x', 'does not have the documented format'],
    [Type.String({ pattern: '^a$', description: 'the letter a' }), 'x', 'must be: the letter a'],
    [Nullable(Type.String({ format: 'date' })), 1, 'must be a date such as 2026-11-21 or null'],
    [Nullable(Type.String({ maxLength: 3 })), 'long', 'must have at most 3 characters'],
    [Nullable(Type.String({ maxLength: 3 })), 5, 'must be a string or null'],
    [Nullable(Type.Integer({ minimum: 1 })), 0, 'must be at least 1'],
    [
      Nullable(Type.String({ pattern: '^[a-z]+$', description: 'lowercase letters' })),
      'A',
      'must be: lowercase letters',
    ],
    [Type.Union([Type.Integer(), OneOf(['all', 'none'])]), true, 'must be an integer or one of all, none'],
    [Type.Array(Type.Object({ y: Type.String({ pattern: '^b$', description: 'a b' }) })), [{ y: 'x' }], 'must be: a b'],
    [Type.Record(Type.String(), Type.String({ pattern: '^c$', description: 'a c' })), { k: 'x' }, 'must be: a c'],
  ])('of %o says of %o: %s', (schema, value, message) => {
    expect(messageOf(schema as TSchema, value)).toBe(message)
  })

  test('suggests the field that was probably meant, or lists a few', () => {
    const unknown = (known: readonly string[], name: string) =>
      messageOf(Input(Object.fromEntries(known.map((field) => [field, Type.Optional(Type.String())]))), { [name]: 'x' })
    expect(unknown(['title', 'tags'], 'Titel')).toBe('is not a known field; did you mean title?')
    expect(unknown(['title', 'tags'], 'ttl')).toBe('is not a known field; did you mean title?')
    expect(unknown(['title', 'tags'], 'tig')).toBe('is not a known field; did you mean tags?')
    expect(unknown(['title', 'tags'], 'name')).toBe('is not a known field; the known fields are title, tags')
    expect(unknown(['abcdef'], 'xyzdef')).toBe('is not a known field; the known fields are abcdef')
    expect(unknown(['abcdef'], 'abcdefghi')).toBe('is not a known field; the known fields are abcdef')
    expect(unknown([], 'name')).toBe('is not a known field; leave it out')
    const twelve = Array.from({ length: 12 }, (_, index) => `field-number-${index}`)
    expect(unknown(twelve, 'name')).toContain('the known fields are field-number-0,')
    expect(unknown([...twelve, 'field-number-12'], 'name')).toBe('is not a known field; leave it out')
  })

  test('of a union is reported once, unless the union itself is valid', () => {
    const either = Type.Union([Type.Object({ a: Type.String() }), Type.Object({ b: Type.String() })])
    expect(messageOf(either, {})).toBe('must be an object or an object')
    expect(paths({ title: 'x', options: { loud: 1 } })).toEqual(['/body/options/loud type'])
    expect(paths({ title: 'x', options: 1 })).toEqual(['/body/options anyOf'])
    expect(paths({ title: 'x', options: {} })).toEqual(['/body/options/loud required'])
  })
})

test('a query is read by the types of its parameters, and what does not fit stays text', () => {
  const reader = queryReader(
    Type.Object({
      limit: Type.Integer(),
      share: Type.Number(),
      archived: Type.Boolean(),
      tags: Type.Array(Type.String()),
      ids: Type.Array(Type.Integer()),
      text: Type.String(),
      labels: SeveralTexts(Type.String()),
    }),
    '/query',
  )
  const read = (text: string) => reader(text).values
  expect(read('')).toEqual({})
  expect(read('limit=%2012%20&share=-1.5&archived=true&text=%20a+b&tags=x,y&tags=z&ids=1,b')).toEqual({
    limit: 12,
    share: -1.5,
    archived: true,
    text: ' a b',
    tags: ['x', 'y', 'z'],
    ids: [1, 'b'],
  })
  expect(read('limit=1e3&share=.5&archived=yes&text=7&other=8&text=9')).toEqual({
    limit: '1e3',
    share: '.5',
    archived: 'yes',
    text: '9',
    other: '8',
  })
  expect(read('archived=false').archived).toBe(false)
  const polluted = read('__proto__=x&constructor=y')
  expect(Object.getPrototypeOf(polluted)).toBe(Object.prototype)
  expect(Object.keys(polluted)).toEqual(['__proto__', 'constructor'])
})
