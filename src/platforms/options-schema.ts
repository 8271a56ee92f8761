import { Type, type TObject, type TSchema } from 'typebox'
import { memoize } from '../tools/memoize.ts'
import { named } from '../core/schema.ts'
import type { Platform } from './platform.ts'
import { PLATFORMS } from './registry.ts'

/** The options of a platform, without others. */
const closed = memoize((platform: Platform): TObject => {
  const { properties = {} } = platform.options ?? {}
  const about = { additionalProperties: false, description: `The options of ${platform.title}` }
  return named(optionsName(platform), Type.Object(properties, about))
})

/** The name of the schema of a platform's options, such as `DiscordOptions`. */
export function optionsName({ key }: Platform): string {
  return `${key.charAt(0).toUpperCase()}${key.slice(1)}Options`
}

/** The options of any platform, for the description of requests. Only the rules of the account's platform apply. */
export function optionsOfAnyPlatform(): TSchema {
  return Type.Union(PLATFORMS.map(closed))
}

type Json = Readonly<Record<string, unknown>>

/**
 * The options of a platform as JSON Schema (2020-12), from which a form can be drawn: each field has a title, and choices
 * are an `enum`.
 */
export const optionsSchemaOf = memoize((platform: Platform): Json => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  ...titled(JSON.parse(JSON.stringify(closed(platform))) as Json),
}))

function titled(schema: Json): Json {
  const { enum: values, items, properties, type } = schema
  return {
    ...(Array.isArray(values) && type === undefined && { type: 'string' }),
    ...schema,
    ...(isObject(items) && { items: titled(items) }),
    ...(isObject(properties) && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, field]) => [name, { title: titleOf(name), ...titled(field as Json) }]),
      ),
    }),
  }
}

function isObject(value: unknown): value is Json {
  return value !== null && typeof value === 'object'
}

/** `privacy_level` and `privacyLevel` as “Privacy level”. */
export function titleOf(name: string): string {
  const words = name.replaceAll('_', ' ').replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  const shown = words.toLowerCase().replaceAll(/\b(id|url)\b/g, (word) => word.toUpperCase())
  return `${shown.charAt(0).toUpperCase()}${shown.slice(1)}`
}
