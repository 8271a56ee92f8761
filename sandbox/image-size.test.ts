import sharp from 'sharp'
import { expect, test } from 'vitest'
import { imageSize, imageType } from './image-size.ts'
import { generatedFile } from './media-facts.ts'

const picture = () => sharp({ create: { width: 321, height: 123, channels: 3, background: 'red' } })

test.each([
  ['image/png', () => picture().png().toBuffer()],
  ['image/gif', () => picture().gif().toBuffer()],
  ['image/jpeg', () => picture().jpeg().toBuffer()],
  ['image/jpeg', () => picture().jpeg({ progressive: true }).withMetadata({ density: 72 }).toBuffer()],
])('the size and type of a picture of the type %s are read', async (type, make) => {
  const bytes = await make()
  expect(imageType(bytes)).toBe(type)
  expect(imageSize(bytes)).toEqual({ width: 321, height: 123 })
})

test('a generated file states its size, and other files have none', () => {
  expect(imageSize(generatedFile({ width: 7, height: 8 }, 200))).toEqual({ width: 7, height: 8 })
  expect(imageSize(Buffer.alloc(100, 7))).toBeUndefined()
  expect(imageSize(Buffer.from([0xff, 0xd8, 0xff]))).toBeUndefined()
  expect(imageType(Buffer.alloc(0))).toBeUndefined()
})
