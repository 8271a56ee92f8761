/** The beginning of a key of the manual order, for a cursor. The rest of a long key is looked up by the id. */
export const cutRank = (rank: string) => rank.slice(0, 40)
export const isRank = (key: string) => /^[A-Za-z0-9]{1,40}$/.test(key)
