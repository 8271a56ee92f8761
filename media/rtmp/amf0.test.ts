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

/** Entries instead of objects: comparing must not trip over "__proto__" itself. */
function plain(amf: AmfValue): unknown {
  if (amf === null || typeof amf !== 'object' || amf instanceof Date) return amf
  return Array.isArray(amf) ? amf.map(plain) : Object.entries(amf).map(([key, member]) => [key, plain(member)])
}

describe('AMF0', () => {
  test('what is encoded decodes to the same', () => {
    fc.assert(
      fc.property(fc.array(value, { maxLength: 5 }), (values) => {
        fc.pre(values.every((one) => depthOf(one) <= 16))
        expect(decodeAmf0(encodeAmf0(...values)).map(plain)).toEqual(values.map(plain))
      }),
      { numRuns: 500 },
    )
  })

  test('any bytes either decode or are an RtmpProtocolError', () => {
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

  test('every proper beginning of a value is refused', () => {
    const whole = encodeAmf0({ app: 'live', list: [1, 'two', new Date(3)], long: 'x'.repeat(66_000) })
    for (const length of [1, 2, 5, 9, 12, 20, 30, 40, 100, whole.length - 1]) {
      expect(() => decodeAmf0(whole.subarray(0, length))).toThrow(RtmpProtocolError)
    }
  })

  test('prototypes cannot be reached', () => {
    const [object] = decodeAmf0(encodeAmf0(JSON.parse('{"__proto__":{"polluted":1},"constructor":2}') as AmfValue))
    expect(Object.getPrototypeOf(object)).toBeNull()
    expect(Object.keys(object as object)).toEqual(['__proto__', 'constructor'])
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
  })

  test.each([60_000, 250_000])('%d objects within each other are refused before the stack is', (count) => {
    const nested = Buffer.alloc(count * 4)
    for (let index = 0; index < count; index++) nested.set([3, 0, 1, 0x61], index * 4)
    expect(() => decodeAmf0(nested)).toThrow('nested too deeply')
  })

  test('16 levels pass and 17 do not', () => {
    const nest = (levels: number): AmfValue => (levels === 0 ? null : [nest(levels - 1)])
    expect(decodeAmf0(encodeAmf0(nest(16)))).toEqual([nest(16)])
    expect(() => decodeAmf0(encodeAmf0(nest(17)))).toThrow('nested too deeply')
  })

  test('a count that its message cannot hold is refused at once', () => {
    const array = Buffer.from('0affffffff0505', 'hex')
    expect(() => decodeAmf0(array)).toThrow('longer than its message')
  })

  test('values and string bytes are limited', () => {
    expect(() => decodeAmf0(Buffer.alloc(16_385, 5))).toThrow('too many values')
    expect(() => decodeAmf0(encodeAmf0('x'.repeat(65_537)))).toThrow('string too long')
    expect(decodeAmf0(encodeAmf0('x'.repeat(65_536)))).toHaveLength(1)
  })

  test('the other markers of publishers are read: ECMA array, typed object, XML, unsupported', () => {
    const ecma = Buffer.from('0800000063000161000000000000000000000009', 'hex')
    expect(decodeAmf0(ecma).map(plain)).toEqual([[['a', 0]]])
    const typed = Buffer.from('10000159000161050000090d', 'hex')
    expect(decodeAmf0(typed).map(plain)).toEqual([[['a', null]], undefined])
    expect(decodeAmf0(Buffer.from('0f0000000178', 'hex'))).toEqual(['x'])
    expect(() => decodeAmf0(Buffer.from('070000', 'hex'))).toThrow('marker 0x7')
    expect(() => decodeAmf0(Buffer.from('11', 'hex'))).toThrow('marker 0x11')
  })
})
