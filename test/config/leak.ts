/** Its letters are nowhere else in the files or in messages: three of them in a row are a leak. */
export const SECRET = 'QZJJ-ZQJZ8JZQJZQ';
export const SECRET_LETTERS = /[QZJ]/;
export const LEAK = /[QZJ]{3}/;
