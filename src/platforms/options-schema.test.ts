import { Type } from 'typebox'
import { expect, test } from 'vitest'
import { ComponentSchemas } from '../core/openapi-schemas.ts'
import { optionsOfAnyPlatform, optionsSchemaOf, titleOf } from './options-schema.ts'
import { findPlatform, PLATFORMS } from './registry.ts'

test.each([
  ['privacy_level', 'Privacy level'],
  ['selfDeclaredMadeForKids', 'Self declared made for kids'],
  ['board_id', 'Board ID'],
  ['cover_image_url', 'Cover image URL'],
  ['langs', 'Langs'],
])('the option %s is titled %s', (name, title) => {
  expect(titleOf(name)).toBe(title)
})

test('each option of each platform has a title, a type and a description', () => {
  for (const platform of PLATFORMS) {
    const { additionalProperties, properties, type } = optionsSchemaOf(platform)
    expect([platform.key, type, additionalProperties]).toEqual([platform.key, 'object', false])
    expect(Object.keys(properties as object)).toEqual(Object.keys(platform.options?.properties ?? {}))
    for (const [name, option] of Object.entries(properties as Record<string, object>)) {
      expect([platform.key, name, option]).toEqual([
        platform.key,
        name,
        expect.objectContaining({
          title: expect.any(String),
          type: expect.any(String),
          description: expect.any(String),
        }),
      ])
    }
  }
})

test('required options and choices are those of the platform', () => {
  const schemaOf = (key: string) =>
    optionsSchemaOf(findPlatform(key)!) as { required?: string[]; properties: Record<string, object> }
  expect(schemaOf('pinterest').required).toEqual(['board_id'])
  const tiktok = schemaOf('tiktok')
  expect(tiktok.properties['privacy_level']).toMatchObject({
    type: 'string',
    enum: expect.arrayContaining(['SELF_ONLY']),
  })
})

test('the OpenAPI document names the options of each platform', () => {
  const schemas = new ComponentSchemas()
  const shown = Type.Object({ options: Type.Optional(Type.Unknown({ 'x-shown': optionsOfAnyPlatform() })) })
  schemas.learn(shown)
  const written = schemas.write(shown) as { properties: { options: { anyOf: { $ref: string }[] } } }
  expect(written.properties.options.anyOf).toHaveLength(PLATFORMS.length)
  expect(written.properties.options.anyOf[0]).toEqual({ $ref: '#/components/schemas/XOptions' })
  expect(schemas.components()['PinterestOptions']).toMatchObject({ required: ['board_id'] })
})
