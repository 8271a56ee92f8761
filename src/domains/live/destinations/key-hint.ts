const SHOWN = 4

/** What stands for the hidden part of a key. */
export const MASK = '••••'

/** The end of a key, for lists. Empty when the key is too short to show a part of it. */
export function keyHint(key: string): string {
  const [name = ''] = key.split('?', 1)
  return name.length >= SHOWN * 3 ? name.slice(-SHOWN) : ''
}

export function masked(hint: string): string {
  return `${MASK}${hint}`
}
