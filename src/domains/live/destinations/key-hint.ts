const SHOWN = 4

/** What lists show of a destination's key: its end, when enough stays hidden. */
export function keyHint(key: string): string {
  const [name = ''] = key.split('?', 1)
  return name.length >= SHOWN * 3 ? name.slice(-SHOWN) : ''
}

export function masked(hint: string): string {
  return `••••${hint}`
}
