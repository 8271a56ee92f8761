import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeAmf0, encodeAmf0 } from './amf0.ts'
import type { AmfValue } from './amf0.ts'
import { RtmpProtocolError } from './errors.ts'

const value = fc.letrec<{ value: AmfValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constant(null),
    fc.constant(undefined),
    fc.boolean(),
    fc.double({ noNaN: true }),
    fc.string({ unit: 'grapheme' }),
    fc.date({ noInvalidDate: true }),
    fc.array(tie('value'), { maxLength: 5, depthIdentifier: 'amf' }),
    fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'toString')), tie('value'), {
      maxKeys: 5,
      noNullPrototype: false,
      depthIdentifier: 'amf',
    }),
  ),
})).value

function depthOf(amf: AmfValue): number {
  if (amf === null || typeof amf !== 'object' || amf instanceof Date) return 0
  return 1 + Math.max(0, ...Object.values(amf as object).map((member) => depthOf(member as AmfValue)))
}

/** Converts objects to entries, because `toEqual` treats a "__proto__" key specially. */
function plain(amf: AmfValue): unknown {
  if (amf === null || typeof amf !== 'object' || amf instanceof Date) return amf
  return Array.isArray(amf) ? amf.map(plain) : Object.entries(amf).map(([key, member]) => [key, plain(member)])
}

describe('AMF0', () => {
  test('encoded values decode to the same values', () => {
    fc.assert(
      fc.property(fc.array(value, { maxLength: 5 }), (values) => {
        fc.pre(values.every((one) => depthOf(one) <= 16))
        expect(decodeAmf0(encodeAmf0(...values)).map(plain)).toEqual(values.map(plain))
      }),
      { numRuns: 500 },
    )
  })

  test('arbitrary bytes decode or throw RtmpProtocolError', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          decodeAmf0(Buffer.from(bytes))
        } catch (error) {
          expect(error).toBeInstanceOf(RtmpProtocolError)
        }
      }),
      { numRuns: 5_000 },
    )
  })

  test('rejects a truncated value', () => {
    const whole = encodeAmf0({ app: 'live', list: [1, 'two', new Date(3)], long: 'x'.repeat(66_000) })
    for (const length of [1, 2, 5, 9, 12, 20, 30, 40, 100, whole.length - 1]) {
      expect(() => decodeAmf0(whole.subarray(0, length))).toThrow(RtmpProtocolError)
    }
  })

  test('decoded objects have no prototype', () => {
    const [object] = decodeAmf0(encodeAmf0(JSON.parse('{"__proto__":{"polluted":1},"constructor":2}') as AmfValue))
    expect(Object.getPrototypeOf(object)).toBeNull()
    expect(Object.keys(object as object)).toEqual(['__proto__', 'constructor'])
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
  })

  test.each([60_000, 250_000])('rejects %d nested objects before the stack overflows', (count) => {
    const nested = Buffer.alloc(count * 4)
    for (let index = 0; index < count; index++) nested.set([3, 0, 1, 0x61], index * 4)
    expect(() => decodeAmf0(nested)).toThrow('nested too deeply')
  })

  test('accepts 16 nesting levels and rejects 17', () => {
    const nest = (levels: number): AmfValue => (levels === 0 ? null : [nest(levels - 1)])
    expect(decodeAmf0(encodeAmf0(nest(16)))).toEqual([nest(16)])
    expect(() => decodeAmf0(encodeAmf0(nest(17)))).toThrow('nested too deeply')
  })

  test('rejects an array whose count exceeds its message', () => {
    const array = Buffer.from('0affffffff0505', 'hex')
    expect(() => decodeAmf0(array)).toThrow('longer than its message')
  })

  test('limits the number of values and the bytes of a string', () => {
    expect(() => decodeAmf0(Buffer.alloc(16_385, 5))).toThrow('too many values')
    expect(() => decodeAmf0(encodeAmf0('x'.repeat(65_537)))).toThrow('string too long')
    expect(decodeAmf0(encodeAmf0('x'.repeat(65_536)))).toHaveLength(1)
  })

  test('decodes ECMA array, typed object, XML and unsupported markers', () => {
    const ecma = Buffer.from('0800000063000161000000000000000000000009', 'hex')
    expect(decodeAmf0(ecma).map(plain)).toEqual([[['a', 0]]])
    const typed = Buffer.from('10000159000161050000090d', 'hex')
    expect(decodeAmf0(typed).map(plain)).toEqual([[['a', null]], undefined])
    expect(decodeAmf0(Buffer.from('0f0000000178', 'hex'))).toEqual(['x'])
    expect(() => decodeAmf0(Buffer.from('070000', 'hex'))).toThrow('marker 0x7')
    expect(() => decodeAmf0(Buffer.from('11', 'hex'))).toThrow('marker 0x11')
  })
})
