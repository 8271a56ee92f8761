import { expect, test } from 'vitest'
import { UploadSlots } from './upload-slots.ts'

test('uploads are limited per caller and in total', () => {
  const slots = new UploadSlots()
  const leave = Array.from({ length: 32 }, () => slots.enter('ada'))
  expect(() => slots.enter('ada')).toThrow(expect.objectContaining({ code: 'too_many_uploads', status: 429 }))
  for (let others = 0; others < 480; others += 1) slots.enter(`other ${others}`)
  expect(() => slots.enter('bob')).toThrow(expect.objectContaining({ code: 'overloaded', status: 503 }))
  leave[0]?.()
  slots.enter('bob')
  expect(() => slots.enter('ada')).toThrow(expect.objectContaining({ code: 'overloaded' }))
})
