import { describe, expect, test } from 'vitest'
import { parseArguments, UsageError } from './arguments.ts'
import type { Command, Field, Schema } from './commands.ts'

const field = (name: string, schema: Schema, more: Partial<Field> = {}): Field => ({
  name,
  flag: name.replace(/([A-Z])/g, '-$1').toLowerCase(),
  in: 'body',
  required: false,
  schema,
  ...more,
})

const command: Command = {
  domain: 'probe',
  name: 'do',
  operation: 'doProbe',
  route: 'POST /api/probe/{id}',
  summary: 'Do',
  description: 'Do it',
  access: 'user',
  body: 'required',
  takesVersion: false,
  upload: undefined,
  download: false,
  fields: [
    field('id', { type: 'string' }, { in: 'path', required: true }),
    field('title', { type: 'string' }, { required: true }),
    field('startAt', { type: ['string', 'null'] }),
    field('count', { type: 'integer' }),
    field('enabled', { type: 'boolean' }),
    field('tags', { type: 'array', items: { type: 'string' } }),
    field('quietHours', { type: 'object' }),
    field('body', { type: 'string' }),
  ],
}

const parse = (...args: string[]) => parseArguments(command, ['x1', '--title', 'T', ...args])

describe('values', () => {
  test.each([
    [['--count', '7'], { count: 7 }],
    [['--count', '-7'], { count: -7 }],
    [['--count=-7'], { count: -7 }],
    [['--enabled'], { enabled: true }],
    [['--no-enabled'], { enabled: false }],
    [['--enabled', 'false'], { enabled: false }],
    [['--enabled=true'], { enabled: true }],
    [['--tags', 'a', '--tags', 'b,c'], { tags: ['a', 'b,c'] }],
    [['--tags', '["a","b"]'], { tags: ['a', 'b'] }],
    [['--quiet-hours', '{"from":"22:00"}'], { quietHours: { from: '22:00' } }],
    [['--quietHours', '{}'], { quietHours: {} }],
    [['--start-at', 'null'], { startAt: null }],
    [['--body', 'words, no JSON'], { body: 'words, no JSON' }],
    [['--body', '-dash'], { body: '-dash' }],
    [['--title', ''], { title: '' }],
    [['--title', 'null'], { title: 'null' }],
  ])('%j', (args, expected) => {
    const parsed = parse(...args)
    expect(parsed.path).toEqual({ id: 'x1' })
    expect(parsed.body).toEqual({ title: 'T', ...expected })
  })

  test('the whole body, overridden by flags', () => {
    expect(parse('--input', '{"title":"other","count":1}').body).toEqual({ title: 'T', count: 1 })
    expect(parseArguments(command, ['--id', 'x1', '--input', '{"title":"whole"}'])).toMatchObject({
      path: { id: 'x1' },
      body: { title: 'whole' },
    })
  })
})

describe('mistakes', () => {
  test.each([
    [['--count', 'many'], '--count must be a number, not many'],
    [['--quiet-hours', '22:00'], '--quiet-hours must be JSON, such as {…}'],
    [['--titel', 'x'], "unknown option '--titel'"],
    [['another'], 'unexpected argument: another'],
    [['--input', '{'], 'the body is not JSON'],
    [['--input', '@/no/such/file'], 'cannot read /no/such/file'],
    [['--count'], "Option '--count <value>' argument missing"],
  ])('%j', (args, message) => {
    expect(() => parse(...args)).toThrow(UsageError)
    expect(() => parse(...args)).toThrow(message)
  })

  test('all missing options are named', () => {
    expect(() => parseArguments(command, [])).toThrow('missing --id, --title')
    expect(() => parseArguments(command, ['x1', '--input', '{"count":1}'])).toThrow('missing --title')
  })

  test('help requires no other arguments', () => {
    expect(parseArguments(command, ['--help']).help).toBe(true)
  })
})
