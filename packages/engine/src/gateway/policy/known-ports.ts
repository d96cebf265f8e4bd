/** Where something else than HTTP is spoken by agreement: SSH, mail, MySQL, PostgreSQL, Redis and MongoDB. */
export const OTHER_PORTS: readonly number[] = [22, 465, 587, 993, 3306, 5432, 6379, 27_017]
