import * as fc from 'fast-check'
import type { TObject } from 'typebox'

type Schema = Readonly<Record<string, unknown>>

/**
 * Options whose values exist at the platform: posts, places, flairs, users. What a fake does not have, it refuses. Polls
 * have drafts of their own, and posts of forums need another account.
 */
const REFERENCES =
  /(?:_id|_ids|Id)$|^(?:subreddit|flair_text|collaborators|categories|quote|thread_name|applied_tags|poll)$/

/** Options that fit the schema of a platform, beside those that name something there. */
export function optionDrafts(schema: TObject): fc.Arbitrary<Readonly<Record<string, unknown>>> {
  return recordOf(schema as unknown as Schema, REFERENCES)
}

function recordOf(schema: Schema, without = /^$/): fc.Arbitrary<Readonly<Record<string, unknown>>> {
  const fields = Object.entries(schema['properties'] as Record<string, Schema>).filter(([name]) => !without.test(name))
  const requiredKeys = (schema['required'] ?? []) as string[]
  return fc.record(Object.fromEntries(fields.map(([name, field]) => [name, valueOf(field)])), {
    requiredKeys: requiredKeys.filter((name) => !without.test(name)),
  })
}

function valueOf(schema: Schema): fc.Arbitrary<unknown> {
  const { enum: values, format, items, maxItems = 4, maxLength = 200, maximum, minLength = 0, minimum = 0 } = schema
  const { pattern, type } = schema
  if (Array.isArray(values)) return fc.constantFrom(...(values as unknown[]))
  if (type === 'boolean') return fc.boolean()
  if (type === 'integer') {
    const least = minimum as number
    return fc.integer({ min: least, max: (maximum as number | undefined) ?? least + 100 })
  }
  if (type === 'array') return fc.uniqueArray(valueOf(items as Schema), { maxLength: maxItems as number })
  if (type === 'object') return recordOf(schema)
  if (format === 'uri' || String(pattern).startsWith('^https')) return fc.constant('https://example.com/a.png')
  if (typeof pattern === 'string') return fc.stringMatching(new RegExp(pattern))
  const length = fc.constantFrom(minLength as number, Math.ceil((maxLength as number) / 3), maxLength as number)
  return length.map((letters) =>
    'word '
      .repeat(Math.ceil(letters / 5))
      .slice(0, letters)
      .trim(),
  )
}
