/** The OID of `json`. */
const JSON_OID = 114
/** Dimensions, flags, type, length and lower bound: 4 bytes each. */
const HEADER_BYTES = 20

/**
 * JSON texts as a parameter of the type `json[]`, in PostgreSQL's binary format of arrays (`array_recv` in
 * src/backend/utils/adt/arrayfuncs.c). As text, each quote would be escaped here and unescaped there; within a larger
 * JSON document, PostgreSQL would parse each text twice.
 */
export function jsonArray(texts: readonly string[]): Buffer {
  const lengths = texts.map((text) => Buffer.byteLength(text))
  const array = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + 4 + length, HEADER_BYTES))
  for (const [index, value] of [1, 0, JSON_OID, texts.length, 1].entries()) array.writeInt32BE(value, index * 4)
  let at = HEADER_BYTES
  texts.forEach((text, index) => {
    at = array.writeInt32BE(lengths[index] as number, at)
    at += array.write(text, at)
  })
  return array
}
