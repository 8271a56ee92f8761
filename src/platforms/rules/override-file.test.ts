import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { waitFor } from '../../../test/support/wait.ts'
import { OverrideFile } from './override-file.ts'

let folder: string
let file: string
let errors: string[]
let overrides: OverrideFile | undefined

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rules-'))
  file = join(folder, 'rules.json')
  errors = []
})

afterEach(() => {
  overrides?.close()
  rmSync(folder, { recursive: true })
})

function open(text: string): OverrideFile {
  writeFileSync(file, text)
  const log = { info: () => {}, error: (fields: object) => errors.push((fields as { reason: string }).reason) }
  overrides = new OverrideFile({ file, log })
  return overrides
}

it('reads numbers and lists', () => {
  const read = open('{ "mastodon": { "text.max": 5000, "image.types": ["image/jpeg"] } }')
  expect(read.of('mastodon')).toEqual(
    new Map<string, unknown>([
      ['text.max', 5_000],
      ['image.types', ['image/jpeg']],
    ]),
  )
  expect(read.of('telegram').size).toBe(0)
  expect(errors).toEqual([])
})

it('reads the file again when it is replaced', async () => {
  const read = open('{ "mastodon": { "text.max": 1 } }')
  read.start()
  writeFileSync(`${file}.new`, '{ "mastodon": { "text.max": 2 } }')
  renameSync(`${file}.new`, file)
  await waitFor(() => read.of('mastodon').get('text.max') === 2)
})

it('keeps the last good values and names every mistake', () => {
  const read = open('{ "mastodon": { "text.max": 1 } }')
  const write = (text: string) => {
    writeFileSync(file, text)
    read.reload()
    return errors.pop()
  }
  expect(write('{ "mastodon": { "text.max": 2, ')).toMatch(/JSON/)
  expect(write('[]')).toMatch(/object/)
  expect(write('{ "mastodon": { "text.maximum": 2 }, "myspace": {} }')).toBe(
    '“mastodon” has no rule “text.maximum”; there is no platform “myspace”',
  )
  expect(write('{ "mastodon": { "text.max": "2" } }')).toBe('“text.max” of “mastodon” must be a number of 0 or more')
  expect(write('{ "mastodon": { "image.types": 2 } }')).toBe('“image.types” of “mastodon” must be a list of texts')
  expect(read.of('mastodon').get('text.max')).toBe(1)
  rmSync(file)
  read.reload()
  expect(errors.pop()).toMatch(/ENOENT/)
  expect(read.of('mastodon').get('text.max')).toBe(1)
})

it('starts without values when the file is missing', () => {
  const log = { info: () => {}, error: (fields: object) => errors.push((fields as { reason: string }).reason) }
  overrides = new OverrideFile({ file, log })
  expect(overrides.of('mastodon').size).toBe(0)
  expect(errors).toHaveLength(1)
})
